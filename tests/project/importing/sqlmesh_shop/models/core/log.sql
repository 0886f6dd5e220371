MODEL (name core.log, kind INCREMENTAL_UNMANAGED (disable_restatement true), enabled true, stamp 'two');

JINJA_QUERY_BEGIN;
SELECT order_id, '{{ start_ds }}' AS day, CAST('{{ execution_ts }}' AS TIMESTAMP) AS loaded_at
FROM raw.orders WHERE ordered_at BETWEEN '{{ start_ts }}' AND '{{ end_ts }}'
{% if var('minimum') > 5 %} AND amount >= {{ var('minimum') }} {% endif %}
JINJA_END;
