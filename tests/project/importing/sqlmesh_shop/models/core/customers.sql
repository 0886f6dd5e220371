MODEL (
  name core.customers,
  kind INCREMENTAL_BY_UNIQUE_KEY (
    unique_key (customer_id, COALESCE(name, '')),
    when_matched (
      WHEN MATCHED AND source.is_gone THEN DELETE
      WHEN MATCHED THEN UPDATE SET target.name = source.name, target.changed_at = source.changed_at
    ),
    merge_filter target.changed_at >= @start_ts
  )
);

SELECT customer_id, name, is_gone, changed_at FROM raw.changes
WHERE changed_at BETWEEN @start_ts AND @end_ts
