{{ config(materialized='ephemeral') }}
select
  pay_id, order_no, method,
  amount_cents,
  {{ euros('amount_cents', 2) }} as amount,
  paid_at at time zone 'UTC' as paid_at,
  _loaded_at as loaded_at
from {{ source('erp', 'payments') }}
where pay_id is not null
