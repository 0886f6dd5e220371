MODEL (
  name staging.orders,
  kind SEED (path '../../seeds/orders.csv'),
  description 'One row per order, from a file of this project',
  grain order_id,
  columns (
    order_id bigint,
    ordered_on date,
    customer string,
    amount decimal(10, 2)
  )
);
