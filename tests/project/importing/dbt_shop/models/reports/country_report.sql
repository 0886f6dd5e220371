{{ config(materialized='table', alias='Country Report', database=target.database) }}
{% set kinds = ['tea', 'coffee', 'cup'] %}
select
  c.country as "Country Code",
  year(l.ordered_on) * 100 + month(l.ordered_on) as "Month",
  {% for k in kinds -%}
  sum(l.amount) filter (p.kind = '{{ k }}') as "{{ k }} EUR",
  {% endfor -%}
  {{ shop_utils.safe_ratio('sum(l.amount)', 'count(*)') }} as per_line,
  '{{ target.name }}' as made_by,
  '{{ env_var("SHOP_CURRENCY", "EUR") }}' as currency
from {{ ref('fct_order_lines') }} l
join {{ ref('dim_products') }} p using (sku)
join {{ ref('fct_orders') }} o using (order_no)
join {{ ref('dim_customers') }} c using (customer_id)
group by 1, 2
having sum(l.amount) > 0
order by 1, 2
