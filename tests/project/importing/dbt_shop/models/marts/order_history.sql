{{ config(materialized='view') }}
select h.order_no, h.line_no, h.state, h.valid_from_ts, h.valid_to_ts, h.is_gone, c.full_name
from {{ ref('snap_orders') }} h
join {{ ref('dim_customers', v=1) }} c using (customer_id)
