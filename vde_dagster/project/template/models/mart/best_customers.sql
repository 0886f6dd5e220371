MODEL (
  name mart.best_customers,
  kind VIEW,
  description 'Customers by revenue, for people'
);

SELECT
  customer AS customer, -- Who ordered
  SUM(orders) AS orders, -- Number of orders
  SUM(revenue) AS revenue -- Their sum
FROM mart.revenue
GROUP BY
  customer
