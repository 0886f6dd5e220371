{{ config(enabled=false, materialized='table') }}
select 1 as nothing from {{ ref('fct_orders') }}
