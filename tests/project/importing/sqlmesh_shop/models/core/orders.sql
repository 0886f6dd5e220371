/* Orders as they come. */
MODEL (
  name core.orders,
  kind INCREMENTAL_BY_TIME_RANGE (
    time_column (order_day, '%Y%m%d'),
    lookback 2,
    batch_size 7,
    batch_concurrency 3,
    auto_restatement_cron '@weekly'
  ),
  cron '@daily',
  owner ana,
  tags (orders, 'two words'),
  grain (order_id, order_day),
  references (customer_id),
  partitioned_by (order_day, region),
  clustered_by customer_id,
  physical_properties ('write.target-file-size-bytes' = 1000),
  allow_partials true,
  interval_unit 'day',
  audits (
    not_null(columns := (order_id, customer_id)),
    above(column := amount, bound := @minimum),
    valid_http_method(column := region)
  ),
  signals (exported(folder := 'orders'))
);

@DEF(cents, x -> x * 100);

CREATE SCHEMA IF NOT EXISTS ops;

SELECT
  order_id, -- the key
  customer_id,
  amount,
  @cents(amount)::BIGINT AS cents,
  region,
  strftime(ordered_at, '%Y%m%d') AS order_day
FROM raw.orders
WHERE ordered_at BETWEEN @start_dt AND @end_dt
  AND region IN (@EACH(@regions, x -> x))
QUALIFY ROW_NUMBER() OVER (PARTITION BY order_id ORDER BY ordered_at DESC) = 1;

AUDIT (name above);
SELECT * FROM @this_model WHERE @column < @bound;

ON_VIRTUAL_UPDATE_BEGIN;
SELECT 1 AS granted;
ON_VIRTUAL_UPDATE_END;
