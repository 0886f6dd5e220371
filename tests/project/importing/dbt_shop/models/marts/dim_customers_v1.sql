select customer_id, full_name, country from {{ ref('stg_customers') }}
