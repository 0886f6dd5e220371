-- The ten worst hours of an airport, with its weather
SELECT
  origin,
  scheduled_hour,
  COUNT(departure_delay_minutes) AS departed,
  ROUND(
    CAST(SUM(departure_delay_minutes) AS DOUBLE) / COUNT(departure_delay_minutes), 1
  ) AS mean_delay_minutes,
  MAX(wind_speed_mph) AS wind_speed_mph,
  MAX(visibility_miles) AS visibility_miles
FROM core.flights
GROUP BY origin, scheduled_hour
HAVING COUNT(departure_delay_minutes) >= 5
ORDER BY mean_delay_minutes DESC, origin, scheduled_hour
LIMIT 10
