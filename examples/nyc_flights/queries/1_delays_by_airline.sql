-- Delays by airline over the days built
SELECT
  airline,
  SUM(flights) AS flights,
  SUM(cancelled) AS cancelled,
  ROUND(
    CAST(SUM(total_departure_delay_minutes) AS DOUBLE) / NULLIF(SUM(departed), 0), 1
  ) AS mean_delay_minutes,
  ROUND(
    CAST(100 * SUM(departed_over_15_late) AS DOUBLE) / NULLIF(SUM(departed), 0), 1
  ) AS percent_over_15_late
FROM mart.delays_by_airline
GROUP BY airline
ORDER BY flights DESC, airline
