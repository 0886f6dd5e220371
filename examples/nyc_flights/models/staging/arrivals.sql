MODEL (
  name staging.arrivals,
  kind INCREMENTAL_BY_TIME_RANGE (time_column scheduled_departure),
  cron '@hourly',
  owner 'flights',
  description 'One row per flight that arrived, by scheduled departure',
  grain (scheduled_departure, carrier, flight, origin, dest),
  late_data (
    mode stateless,
    sources (raw.arrivals)
  )
);

SELECT
  scheduled_departure AS scheduled_departure, -- When the flight should have left
  carrier AS carrier, -- Two letter code of the airline
  flight AS flight, -- Flight number
  origin AS origin, -- Airport it left
  dest AS dest, -- Airport it was bound for
  actual_arrival AS actual_arrival, -- Actual departure plus air time
  air_time_minutes AS air_time_minutes, -- Minutes in the air
  arrival_delay_minutes AS arrival_delay_minutes, -- Minutes after schedule, negative when early
  event_landing_ts AS landed_at -- When the row landed upstream
FROM raw.arrivals
WHERE
  scheduled_departure BETWEEN @start_dt AND @end_dt
