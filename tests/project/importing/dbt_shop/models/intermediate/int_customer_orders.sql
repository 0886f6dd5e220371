{{ config(materialized='view', access='private', group='commerce') }}
select
  customer_id,
  listagg(sku, '+' order by ordered_at, line_no) over w as skus_so_far,
  list(distinct sku) over (partition by customer_id) as all_skus,
  order_no,
  ordered_at as last_ordered_at
from {{ ref('stg_orders') }}
window w as (partition by customer_id order by ordered_at, line_no rows between unbounded preceding and current row)
qualify row_number() over (partition by customer_id order by ordered_at desc, line_no desc) = 1
