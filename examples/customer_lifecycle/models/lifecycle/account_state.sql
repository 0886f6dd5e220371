MODEL (
  name lifecycle.account_state,
  kind INCREMENTAL_BY_TIME_RANGE (time_column hour),
  description 'The state of every account at the end of each hour.',
  columns (account_id bigint, hour timestamp, state string),
  late_data (
    mode stateful,
    sources (lifecycle.signups, lifecycle.account_plans, lifecycle.cancels)
  ),
  audits (unique_combination_of_columns(columns := (account_id, hour)))
);

-- Each hour reads the hour before of the model itself, and the events of the hour.
WITH events AS (
  SELECT account_id, state, TIMESTAMP '1970-01-01 00:00:00' AS happened_at, 0 AS place
  FROM lifecycle.account_state
  UNION ALL
  SELECT account_id, 'active', signed_up_at, 1 FROM lifecycle.signups
  UNION ALL
  SELECT account_id, change, changed_at, 2 FROM lifecycle.account_plans
  UNION ALL
  SELECT account_id, 'cancelled', cancelled_at, 3 FROM lifecycle.cancels
)
SELECT
  account_id,
  CAST(@start_ts AS TIMESTAMP) AS hour,
  MAX_BY(state, STRUCT(happened_at, place, state)) AS state
FROM events
GROUP BY account_id
