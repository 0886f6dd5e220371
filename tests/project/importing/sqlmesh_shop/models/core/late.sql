MODEL (name core.late, kind FULL);

SELECT order_id FROM raw.orders WHERE ordered_at >= @days_before(@execution_ds, 3)
