{{ config(materialized='view') }}
with t as (
  select strptime(month || '-01', '%Y-%m-%d')::date as month, country, target_cents from {{ ref('shop_targets') }}
),
s as (
  select date_trunc('month', l.ordered_at)::date as month, c.country, (sum(l.amount) * 100)::bigint as cents
  from {{ ref('fct_order_lines') }} l
  join {{ ref('fct_orders') }} o using (order_no)
  join {{ ref('dim_customers') }} c using (customer_id)
  group by all
)
select t.month, t.country, t.target_cents, coalesce(s.cents, 0) as cents,
  t.country in (select code from {{ ref('country_codes') }} where eu) as in_eu,
  coalesce(r.rate, 0) as tax_rate,
  datediff('day', t.month, last_day(t.month)) + 1 as days_of_month,
  {{ dbt.dateadd('month', 1, 't.month') }} as next_month
from t left join s using (month, country)
left join {{ ref('stg_tax_rates') }} r on r.country = t.country
