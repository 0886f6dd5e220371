MODEL (
  name staging.weather,
  kind INCREMENTAL_BY_TIME_RANGE (time_column observed_at),
  cron '@hourly',
  owner 'flights',
  description 'Weather, one row per origin and hour; measures are exact decimals',
  grain (origin, observed_at)
);

SELECT
  origin AS origin, -- Airport
  observed_at AS observed_at, -- Start of the hour, UTC
  CAST(temp AS DECIMAL(5, 2)) AS temperature_f, -- Degrees Fahrenheit
  CAST(humid AS DECIMAL(5, 2)) AS humidity_percent, -- Relative humidity
  wind_dir AS wind_direction_degrees, -- Where the wind comes from
  CAST(wind_speed AS DECIMAL(9, 5)) AS wind_speed_mph, -- As reported, outliers included
  CAST(wind_gust AS DECIMAL(9, 5)) AS wind_gust_mph, -- Null where none was reported
  CAST(precip AS DECIMAL(5, 2)) AS precipitation_inches, -- Rain or snow of the hour
  CAST(visib AS DECIMAL(5, 2)) AS visibility_miles -- At most 10 are reported
FROM raw.weather
WHERE
  observed_at BETWEEN @start_dt AND @end_dt
