{{ config(materialized='ephemeral') }}
with o as (select distinct order_no, customer_id from {{ ref('stg_orders') }}),
p as (select * from {{ ref('stg_payments') }})
select
  o.order_no,
  o.customer_id,
  count(*) filter (where p.method = 'card') as card_payments,
  coalesce(sum(p.amount_cents), 0)::bigint as paid_cents,
  max(p.paid_at) as last_paid_at
from o left join p on p.order_no = o.order_no
group by all
