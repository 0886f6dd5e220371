MODEL (
  name core.flights,
  kind INCREMENTAL_BY_TIME_RANGE (time_column scheduled_departure),
  cron '@hourly',
  owner 'flights',
  description 'One row per flight: departure, arrival where there is one, weather of its hour',
  grain (scheduled_departure, carrier, flight, origin, dest)
);

WITH departures AS (
  SELECT
    scheduled_departure,
    scheduled_hour,
    carrier,
    flight,
    tailnum,
    origin,
    dest,
    distance_miles,
    actual_departure,
    departure_delay_minutes,
    cancelled
  FROM staging.departures
  WHERE
    scheduled_departure BETWEEN @start_dt AND @end_dt
), arrivals AS (
  SELECT
    scheduled_departure,
    carrier,
    flight,
    origin,
    dest,
    actual_arrival,
    air_time_minutes,
    arrival_delay_minutes
  FROM staging.arrivals
  WHERE
    scheduled_departure BETWEEN @start_dt AND @end_dt
), weather AS (
  SELECT
    origin,
    observed_at,
    temperature_f,
    wind_speed_mph,
    precipitation_inches,
    visibility_miles
  FROM staging.weather
  WHERE
    observed_at BETWEEN @start_dt AND @end_dt
)
SELECT
  d.scheduled_departure AS scheduled_departure, -- When the flight should have left
  d.scheduled_hour AS scheduled_hour, -- Start of that hour, UTC
  d.carrier AS carrier, -- Two letter code of the airline
  d.flight AS flight, -- Flight number
  d.tailnum AS tailnum, -- Tail number of the aircraft, where known
  d.origin AS origin, -- Airport it left or should have left
  d.dest AS dest, -- Airport it was bound for
  d.distance_miles AS distance_miles, -- Miles between the airports
  d.cancelled AS cancelled, -- Whether it never left
  d.actual_departure AS actual_departure, -- When it left, null where cancelled
  d.departure_delay_minutes AS departure_delay_minutes, -- Minutes after schedule
  a.actual_arrival AS actual_arrival, -- Null where cancelled, diverted or still in the air
  a.air_time_minutes AS air_time_minutes, -- Minutes in the air
  a.arrival_delay_minutes AS arrival_delay_minutes, -- Minutes after schedule
  w.temperature_f AS temperature_f, -- Degrees Fahrenheit at origin in the scheduled hour
  w.wind_speed_mph AS wind_speed_mph, -- Wind at origin in the scheduled hour
  w.precipitation_inches AS precipitation_inches, -- Rain or snow at origin in the scheduled hour
  w.visibility_miles AS visibility_miles -- Visibility at origin in the scheduled hour
FROM departures AS d
LEFT JOIN arrivals AS a
  ON a.scheduled_departure = d.scheduled_departure
  AND a.carrier = d.carrier
  AND a.flight = d.flight
  AND a.origin = d.origin
  AND a.dest = d.dest
LEFT JOIN weather AS w
  ON w.origin = d.origin AND w.observed_at = DATE_TRUNC('HOUR', d.scheduled_departure)
