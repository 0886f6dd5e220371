{{ config(
    materialized='incremental',
    incremental_strategy='delete+insert',
    unique_key=['order_no', 'line_no'],
    on_schema_change='fail',
    incremental_predicates=["DBT_INCREMENTAL_TARGET.ordered_at >= date '2025-01-01'"],
    full_refresh=false,
) }}
with fresh as (
  select o.*, p."Price (EUR)" as price
  from {{ ref('stg_orders') }} o
  join {{ ref('dim_products') }} p using (sku)
  where o.state <> 'cancelled'
  {%- if is_incremental() %}
    and o.ordered_at >= (select coalesce(max(t.ordered_at), timestamp '1970-01-01') - interval '3 days' from {{ this }} as t)
  {%- endif %}
)
select order_no, line_no, sku, qty, price * qty as amount, ordered_at, ordered_on
from fresh
