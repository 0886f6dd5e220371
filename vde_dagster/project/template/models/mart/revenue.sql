MODEL (
  name mart.revenue,
  kind FULL,
  cron '@daily',
  description 'Revenue by day and customer',
  grain (ordered_on, customer)
);

SELECT
  ordered_on AS ordered_on, -- Day of the order
  customer AS customer, -- Who ordered
  COUNT(*) AS orders, -- Number of orders
  SUM(amount) AS revenue -- Their sum
FROM staging.orders
GROUP BY
  ordered_on,
  customer
