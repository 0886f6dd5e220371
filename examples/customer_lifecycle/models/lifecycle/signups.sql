MODEL (
  name lifecycle.signups,
  kind INCREMENTAL_BY_TIME_RANGE (time_column signed_up_at),
  description 'Every signup. Late ones are appended to the hour in which they happened.',
  late_data (mode stateless, sources (raw.signups)),
  audits (not_null(columns := (account_id, signed_up_at)))
);

SELECT account_id, happened_at AS signed_up_at
FROM raw.signups
WHERE happened_at BETWEEN @start_ts AND @end_ts
