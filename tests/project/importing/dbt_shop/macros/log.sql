{% macro make_load_log() %}
  create table if not exists {{ target.schema }}_ops.load_log (what varchar, noted_at timestamp)
{% endmacro %}

{% macro note_load(relation) %}
  insert into {{ target.schema }}_ops.load_log values ('{{ relation.identifier }}', current_timestamp::timestamp)
{% endmacro %}

{% macro note_run_end(results) %}
  {% if execute %}
  insert into {{ target.schema }}_ops.load_log values ('run of {{ results | length }} nodes', current_timestamp::timestamp)
  {% endif %}
{% endmacro %}

{% macro newest(column, relation) %}
  {% set q %}select max({{ column }}) from {{ relation }}{% endset %}
  {% if execute %}
    {% set r = run_query(q) %}
    {{ return(r.columns[0].values()[0]) }}
  {% else %}
    {{ return('') }}
  {% endif %}
{% endmacro %}

{% macro clock() -%} current_timestamp::timestamp {%- endmacro %}
