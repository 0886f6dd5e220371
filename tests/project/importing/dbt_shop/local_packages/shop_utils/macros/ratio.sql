{% macro safe_ratio(a, b, digits=4) -%}
  {{ return(adapter.dispatch('safe_ratio', 'shop_utils')(a, b, digits)) }}
{%- endmacro %}

{% macro default__safe_ratio(a, b, digits) -%}
  round({{ a }} * 1.0 / nullif({{ b }}, 0), {{ digits }})
{%- endmacro %}

{% macro duckdb__safe_ratio(a, b, digits) -%}
  round(({{ a }})::double / nullif({{ b }}, 0), {{ digits }})
{%- endmacro %}

{% macro spark__safe_ratio(a, b, digits) -%}
  round(try_divide({{ a }}, {{ b }}), {{ digits }})
{%- endmacro %}
