-- What has landed so far, and how late: departures by scheduled day (UTC)
SELECT
  CAST(scheduled_departure AS DATE) AS flight_date,
  COUNT(*) AS flights,
  COUNT_IF(cancelled) AS cancelled,
  COUNT_IF(landed_at >= scheduled_hour + INTERVAL '1' HOUR) AS landed_in_a_later_hour,
  MAX(departure_delay_minutes) AS longest_delay_minutes,
  MAX(landed_at) AS last_landed_at
FROM staging.departures
GROUP BY CAST(scheduled_departure AS DATE)
ORDER BY flight_date
