MODEL (
  name mart.carrier_delays,
  kind INCREMENTAL_BY_TIME_RANGE (time_column flight_date),
  cron '@daily',
  owner 'flights',
  description 'Delays by scheduled day (UTC) and carrier',
  grain (flight_date, carrier)
);

SELECT
  CAST(scheduled_departure AS DATE) AS flight_date, -- Scheduled day, UTC
  carrier AS carrier, -- Two letter code of the airline
  COUNT(*) AS flights, -- Scheduled flights known so far
  COUNT_IF(cancelled) AS cancelled, -- Of them cancelled
  COUNT(actual_departure) AS departed, -- Of them departed
  COUNT(actual_arrival) AS arrived, -- Of them arrived
  COALESCE(SUM(departure_delay_minutes), 0) AS total_departure_delay_minutes, -- Early is negative
  COALESCE(SUM(arrival_delay_minutes), 0) AS total_arrival_delay_minutes, -- Early is negative
  COUNT_IF(departure_delay_minutes > 15) AS departed_over_15_late, -- By more than 15 minutes
  CAST(SUM(departure_delay_minutes) AS DOUBLE) / NULLIF(COUNT(departure_delay_minutes), 0) AS mean_departure_delay_minutes, -- Null if none
  CAST(SUM(arrival_delay_minutes) AS DOUBLE) / NULLIF(COUNT(arrival_delay_minutes), 0) AS mean_arrival_delay_minutes, -- Null if none
  CAST(COUNT_IF(departure_delay_minutes > 15) AS DOUBLE) / NULLIF(COUNT(departure_delay_minutes), 0) AS share_over_15_late -- Of the departed, 0 to 1
FROM core.flights
WHERE
  scheduled_departure BETWEEN @start_dt AND @end_dt
GROUP BY
  CAST(scheduled_departure AS DATE),
  carrier
