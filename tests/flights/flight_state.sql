MODEL (
  name core.flight_state,
  kind INCREMENTAL_BY_TIME_RANGE (time_column hour),
  cron '@hourly',
  columns (
    hour timestamp,
    carrier string,
    flight int,
    origin string,
    dest string,
    scheduled_departure timestamp,
    actual_departure timestamp,
    state string
  ),
  late_data (
    mode stateful,
    sources (staging.departures, raw.arrivals (tracked_by actual_arrival))
  )
);

WITH known AS (
  SELECT carrier, flight, origin, dest, scheduled_departure, actual_departure, FALSE AS cancelled
  FROM core.flight_state
  WHERE state IN ('waiting', 'in the air')
  UNION ALL
  SELECT carrier, flight, origin, dest, scheduled_departure, actual_departure, cancelled
  FROM staging.departures
  WHERE scheduled_departure BETWEEN @start_dt AND @end_dt
)
SELECT
  CAST(@start_dt AS TIMESTAMP) AS hour,
  k.carrier AS carrier,
  k.flight AS flight,
  k.origin AS origin,
  k.dest AS dest,
  k.scheduled_departure AS scheduled_departure,
  k.actual_departure AS actual_departure,
  CASE
    WHEN k.cancelled THEN 'cancelled'
    WHEN k.actual_departure > @end_dt THEN 'waiting'
    WHEN a.carrier IS NOT NULL THEN 'arrived'
    ELSE 'in the air'
  END AS state
FROM known AS k
LEFT JOIN raw.arrivals AS a
  ON a.scheduled_departure = k.scheduled_departure
  AND a.carrier = k.carrier
  AND a.flight = k.flight
  AND a.origin = k.origin
  AND a.dest = k.dest
WHERE k.cancelled OR k.actual_departure > @end_dt - INTERVAL '24' HOUR
