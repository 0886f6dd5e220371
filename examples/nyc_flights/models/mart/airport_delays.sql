MODEL (
  name mart.airport_delays,
  kind INCREMENTAL_BY_TIME_RANGE (time_column flight_date),
  cron '@daily',
  owner 'flights',
  description 'Delays and weather (mean over flights) by scheduled day (UTC) and origin',
  grain (flight_date, origin)
);

SELECT
  CAST(scheduled_departure AS DATE) AS flight_date, -- Scheduled day, UTC
  origin AS origin, -- Airport
  COUNT(*) AS flights, -- Scheduled flights known so far
  COUNT_IF(cancelled) AS cancelled, -- Of them cancelled
  COUNT(actual_departure) AS departed, -- Of them departed
  COALESCE(SUM(departure_delay_minutes), 0) AS total_departure_delay_minutes, -- Early is negative
  CAST(SUM(departure_delay_minutes) AS DOUBLE) / NULLIF(COUNT(departure_delay_minutes), 0) AS mean_departure_delay_minutes, -- Null if none
  COUNT(wind_speed_mph) AS flights_with_wind, -- Flights whose hour has a wind report
  CAST(CAST(SUM(wind_speed_mph) AS DECIMAL(18, 5)) AS DOUBLE) / NULLIF(COUNT(wind_speed_mph), 0) AS mean_wind_speed_mph, -- From an exact decimal sum
  CAST(CAST(SUM(visibility_miles) AS DECIMAL(18, 2)) AS DOUBLE) / NULLIF(COUNT(visibility_miles), 0) AS mean_visibility_miles -- From an exact decimal sum
FROM core.flights
WHERE
  scheduled_departure BETWEEN @start_dt AND @end_dt
GROUP BY
  CAST(scheduled_departure AS DATE),
  origin
