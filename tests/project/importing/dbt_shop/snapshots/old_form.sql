{% snapshot snap_payments %}
{{ config(target_schema='dev_history', unique_key='pay_id', strategy='timestamp', updated_at='_loaded_at', invalidate_hard_deletes=true) }}
select * from {{ source('erp', 'payments') }} where amount_cents > 0
{% endsnapshot %}
