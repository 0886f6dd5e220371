MODEL (
  name lifecycle.account_plans,
  kind INCREMENTAL_BY_TIME_RANGE (time_column changed_at),
  description 'Every change of a plan, up or down. Late ones are appended to their hour.',
  late_data (mode stateless, sources (raw.plans)),
  audits (accepted_values(column := change, is_in := ('upgraded', 'downgraded')))
);

SELECT account_id, change, happened_at AS changed_at
FROM raw.plans
WHERE happened_at BETWEEN @start_ts AND @end_ts
