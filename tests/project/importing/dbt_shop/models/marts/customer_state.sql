{#- By unique key without any is_incremental() -#}
{{ config(materialized='incremental', unique_key=['customer_id', 'country']) }}
select c.customer_id, c.country, o.last_ordered_at, o.skus_so_far, o.all_skus
from {{ ref('stg_customers') }} c
left join {{ ref('int_customer_orders') }} o on o.customer_id = c.customer_id
