{#- The lines of orders, as the ERP has them -#}
with lines as (
  select * exclude (_loaded_at)
  from {{ source('erp', 'orders') }}
)
select
  order_no,
  line_no,
  order_no || '-' || line_no as line_key,
  customer_id,
  sku,
  qty,
  lower(state) as state,
  ordered_at,
  updated_at,
  {{ day_of('ordered_at') }} as ordered_on
from lines
