MODEL (
  name lifecycle.cancels,
  kind INCREMENTAL_BY_TIME_RANGE (time_column cancelled_at),
  description 'Every cancellation by the hour in which it was processed, and whether the customer asked for it.',
  late_data (mode stateful, sources ('raw.cancels|processing_ts', lifecycle.cancel_requests)),
  audits (
    accepted_values(column := churn, is_in := ('voluntary', 'involuntary')),
    no_missing_events(source := raw.cancels, event_id := account_id, time_column := processing_ts)
  )
);

-- A request counts for a day. A request that comes late changes the hours that it counts for.
WITH requested AS (
  SELECT account_id, requested_at
  FROM lifecycle.cancel_requests
  WHERE requested_at BETWEEN @start_dt - INTERVAL '1' DAY AND @end_dt
)
SELECT
  c.account_id,
  c.processing_ts AS cancelled_at,
  IF(COUNT(r.account_id) > 0, 'voluntary', 'involuntary') AS churn
FROM raw.cancels AS c
LEFT JOIN requested AS r
  ON r.account_id = c.account_id AND r.requested_at <= c.processing_ts
GROUP BY c.account_id, c.processing_ts
