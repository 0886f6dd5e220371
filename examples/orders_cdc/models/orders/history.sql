MODEL (
  name orders.history,
  kind SCD_TYPE_2_BY_COLUMN (
    unique_key order_id,
    columns (status, amount),
    sequence_by (changed_at, change_id),
    delete_when (op = 'D'),
    disable_restatement false
  ),
  cron '@hourly',
  description 'Each order as it was from one change of its status or amount to the next',
  late_data (
    mode stateless,
    sources (raw.order_changes)
  )
);

SELECT
  order_id AS order_id, -- The order
  status AS status, -- placed, paid, shipped or returned
  amount AS amount, -- What it cost then
  op AS op, -- I, U or D: what the change does
  changed_at AS changed_at, -- When it happened in the shop
  change_id AS change_id -- In which order changes of one instant happened
FROM raw.order_changes
