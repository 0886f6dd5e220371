{{ config(
    materialized='incremental',
    incremental_strategy='microbatch',
    event_time='day',
    batch_size='day',
    begin='2025-03-01',
    lookback=2,
    concurrent_batches=false,
) }}
select
  {{ day_of('e.happened_at') }} as day,
  e.page,
  count(*) as views,
  quantile_cont(e.ms, 0.5) as median_ms,
  list(distinct e.customer_id order by e.customer_id) as visitors
from {{ ref('stg_page_events') }} as e
left join {{ ref('calendar') }} as c on c.day = {{ day_of('e.happened_at') }}
where e.event_kind = 'view'
group by all
