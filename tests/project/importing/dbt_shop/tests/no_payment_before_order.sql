-- A payment is never older than its order.
{{ config(severity='warn', tags=['money'], meta={'ask': 'finance'}, warn_if='>0', error_if='>20') }}
select p.pay_id, p.paid_at, o.ordered_at
from {{ ref('fct_payments') }} as p
join {{ ref('fct_orders') }} as o using (order_no)
where p.paid_at < o.ordered_at
qualify row_number() over (partition by p.pay_id order by o.ordered_at) = 1
