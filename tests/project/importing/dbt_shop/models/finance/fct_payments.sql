{{ config(incremental_strategy='append') }}
select pay_id, order_no, method, amount, paid_at, loaded_at
from {{ ref('stg_payments') }}
{% if is_incremental() %}
where loaded_at > (select coalesce(max(loaded_at), '1900-01-01'::timestamp) from {{ this }})
{% endif %}
