select
  d::date as day,
  isodow(d) in (6, 7) as is_weekend,
  strftime(d, '%Y-W%V') as iso_week
from generate_series(
  date '{{ var("first_day", "2025-01-01") }}',
  date '{{ var("first_day", "2025-01-01") }}' + interval {{ var('calendar_days') }} day,
  interval 1 day
) as t(d)
