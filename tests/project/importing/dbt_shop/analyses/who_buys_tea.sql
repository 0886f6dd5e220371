select c.country, count(*) as n
from {{ ref('fct_orders') }} o join {{ ref('dim_customers') }} c using (customer_id)
group by all order by n desc
