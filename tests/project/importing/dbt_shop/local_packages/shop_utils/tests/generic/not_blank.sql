{% test not_blank(model, column_name, trim_first=true) %}
  select {{ column_name }} from {{ model }}
  where {% if trim_first %}trim({{ column_name }}){% else %}{{ column_name }}{% endif %} = ''
{% endtest %}
