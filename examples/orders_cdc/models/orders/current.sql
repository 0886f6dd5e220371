MODEL (
  name orders.current,
  kind INCREMENTAL_BY_UNIQUE_KEY (
    unique_key order_id,
    sequence_by (changed_at, change_id),
    delete_when (op = 'D')
  ),
  cron '@hourly',
  description 'Each order as its last change says',
  grain order_id,
  audits (not_null (columns (status))),
  late_data (
    mode stateless,
    sources (raw.order_changes)
  )
);

SELECT
  order_id AS order_id, -- The order
  status AS status, -- placed, paid, shipped or returned
  amount AS amount, -- What it costs
  op AS op, -- I, U or D: what the change does
  changed_at AS changed_at, -- When it happened in the shop
  change_id AS change_id -- In which order changes of one instant happened
FROM raw.order_changes
