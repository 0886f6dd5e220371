{{ config(
    materialized='incremental',
    incremental_strategy='merge',
    unique_key='order_no',
    on_schema_change='append_new_columns',
    merge_exclude_columns=['first_seen_at'],
) }}
select
  order_no,
  any_value(customer_id) as customer_id,
  sum(qty) as n_items,
  arg_max(state, updated_at) as state,
  min(ordered_at) as ordered_at,
  max(updated_at) as updated_at,
  {{ clock() }} as first_seen_at
from {{ ref('stg_orders') }}
{% if is_incremental() %}
where updated_at > (select max(updated_at) from {{ this }})
{% endif %}
group by order_no
