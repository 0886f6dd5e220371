MODEL (
  name lifecycle.cancel_requests,
  kind INCREMENTAL_BY_TIME_RANGE (time_column requested_at),
  description 'Requests of customers to cancel.',
  late_data (mode stateless, sources (raw.cancel_requests))
);

SELECT account_id, happened_at AS requested_at
FROM raw.cancel_requests
WHERE happened_at BETWEEN @start_ts AND @end_ts
