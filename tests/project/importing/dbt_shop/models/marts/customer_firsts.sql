{#- One row a customer; only customers that the table lacks are looked at: no time range. -#}
{{ config(materialized='incremental', unique_key='customer_id', on_schema_change='sync_all_columns') }}
select
  customer_id,
  min(ordered_at) as first_ordered_at,
  min_by(sku, ordered_at) as first_sku
from {{ ref('stg_orders') }}
{% if is_incremental() -%}
where customer_id not in (select customer_id from {{ this }})
{%- else -%}
where customer_id > 0
{%- endif %}
group by customer_id
