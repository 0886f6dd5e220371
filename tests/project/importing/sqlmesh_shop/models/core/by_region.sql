MODEL (
  name core.orders_@region,
  kind FULL,
  blueprints ((region := north, value := 'north'), (region := south, value := 'south'))
);

SELECT order_id, amount FROM core.orders WHERE region = @value
