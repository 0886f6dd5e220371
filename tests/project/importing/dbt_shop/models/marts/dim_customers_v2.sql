{{ config(
    pre_hook="select 1",
    post_hook=["{{ note_load(this) }}", {"sql": "analyze {{ this }}", "transaction": false}]
) }}
select
  c.customer_id,
  c.full_name,
  c.country,
  cc."Country Name",
  c.signed_up_on,
  coalesce(sum(p.paid_cents), 0)::bigint as paid_cents,
  coalesce(sum(p.paid_cents), 0) >= {{ var('vip_from_cents') }} as is_vip
from {{ ref('stg_customers') }} as c
left join {{ ref('country_codes') }} as cc on cc.code = c.country
left join {{ ref('int_order_payments') }} as p on p.customer_id = c.customer_id
group by all
