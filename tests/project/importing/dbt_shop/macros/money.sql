{#- Cents as a decimal number -#}
{% macro euros(column, digits=2) -%}
  ({{ column }} / 100.0)::decimal(18, {{ digits }})
{%- endmacro %}

{% macro day_of(ts) -%}
  {{ return(adapter.dispatch('day_of', 'shop')(ts)) }}
{%- endmacro %}
{% macro default__day_of(ts) -%} cast({{ ts }} as date) {%- endmacro %}
{% macro duckdb__day_of(ts) -%} date_trunc('day', {{ ts }})::date {%- endmacro %}
{% macro spark__day_of(ts) -%} to_date({{ ts }}) {%- endmacro %}
