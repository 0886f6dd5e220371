MODEL (
  name staging.departures,
  kind INCREMENTAL_BY_TIME_RANGE (time_column scheduled_departure),
  cron '@hourly',
  owner 'flights',
  description 'One row per flight that left or was cancelled, by scheduled departure',
  grain (scheduled_departure, carrier, flight, origin, dest),
  late_data (
    mode stateless,
    sources (raw.departures)
  )
);

SELECT
  scheduled_departure AS scheduled_departure, -- When the flight should have left
  DATE_TRUNC('HOUR', scheduled_departure) AS scheduled_hour, -- Start of that hour, UTC
  carrier AS carrier, -- Two letter code of the airline
  flight AS flight, -- Flight number
  tailnum AS tailnum, -- Tail number of the aircraft, where known
  origin AS origin, -- Airport it left or should have left
  dest AS dest, -- Airport it was bound for
  distance AS distance_miles, -- Miles between the airports
  actual_departure AS actual_departure, -- When it left, null where cancelled
  departure_delay_minutes AS departure_delay_minutes, -- Minutes after schedule, negative when early
  cancelled AS cancelled, -- Whether it never left
  event_landing_ts AS landed_at -- When the row landed upstream
FROM raw.departures
WHERE
  scheduled_departure BETWEEN @start_dt AND @end_dt
