{% test positive(model, column_name, or_zero=false) %}
  {{ config(severity='error', fail_calc='count(*)') }}
  select * from {{ model }}
  where {{ column_name }} {{ '<' if or_zero else '<=' }} 0
{% endtest %}
