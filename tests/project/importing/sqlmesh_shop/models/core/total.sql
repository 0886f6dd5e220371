MODEL (
  name core.total,
  kind INCREMENTAL_BY_TIME_RANGE (time_column day, batch_size 1),
  columns (day date, amount double)
);

SELECT @end_date AS day, COALESCE(t.amount, 0) + COALESCE(p.amount, 0) AS amount
FROM (SELECT SUM(amount)::DOUBLE AS amount FROM core.orders WHERE order_day BETWEEN strftime(@start_date, '%Y%m%d') AND strftime(@end_date, '%Y%m%d')) AS t
LEFT JOIN core.total AS p ON p.day = @end_date - INTERVAL 1 DAY
