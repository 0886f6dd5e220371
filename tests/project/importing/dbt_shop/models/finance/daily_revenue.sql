{{ config(unique_key='day', incremental_strategy='delete+insert', tags=['daily', 'board']) }}
{%- set since = newest('day', this) if is_incremental() else none -%}
select
  date_trunc('day', paid_at)::date as day,
  sum(amount) as revenue,
  count(distinct order_no) as n_orders,
  {{ shop_utils.safe_ratio('sum(amount)', 'count(distinct order_no)', 2) }} as per_order,
  strftime(min(paid_at), '%Y-%m') as month_text
from {{ ref('stg_payments') }}
{% if since %}
where date_trunc('day', paid_at)::date >= '{{ since }}'::date - 2
{% endif %}
group by all
