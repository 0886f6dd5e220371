{#- DuckDB has no insert_overwrite, so this one is only compiled: dbt compile with the variable with_overwrite -#}
{{ config(
    enabled=var('with_overwrite'),
    incremental_strategy='insert_overwrite',
    partition_by=['month'],
    file_format='iceberg',
    grants={'select': ['reporters']},
) }}
select
  date_trunc('month', o.ordered_at)::date as month,
  c.country,
  sum(o.n_items) as n_items
from {{ ref('fct_orders') }} o
join {{ ref('dim_customers') }} c using (customer_id)
{% if is_incremental() %}
where o.ordered_at >= date_trunc('month', current_date - interval 1 month)
{% endif %}
group by all
