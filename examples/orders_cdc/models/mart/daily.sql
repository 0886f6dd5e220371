MODEL (
  name mart.daily,
  kind FULL,
  cron '@hourly',
  description 'How many orders came into each status on each day, and what they cost then',
  grain (day, status)
);

SELECT
  CAST(valid_from AS DATE) AS day, -- The day, UTC
  status AS status, -- The status that orders came into
  COUNT(*) AS orders, -- How many came
  SUM(amount) AS amount -- What they cost
FROM orders.history
GROUP BY CAST(valid_from AS DATE), status
