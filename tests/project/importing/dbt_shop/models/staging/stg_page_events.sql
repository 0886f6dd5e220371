{{
  config(
    alias='page_events_clean',
    event_time='happened_at',
    meta={'pii': false},
  )
}}
select
  event_id,
  "User Id" as customer_id,
  kind as event_kind,
  happened_at,
  payload ->> 'page' as page,
  try_cast(payload ->> 'ms' as integer) as ms,
  epoch_ms(happened_at) as happened_ms
from {{ source('web', 'page_events') }}
