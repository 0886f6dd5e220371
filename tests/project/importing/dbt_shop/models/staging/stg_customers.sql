select
  id::integer as customer_id,
  trim(full_name) as full_name,
  split_part(full_name, ' ', 1) as first_name,
  nullif(e_mail, '')::varchar as e_mail,
  country,
  strptime(signed_up, '%d.%m.%Y')::date as signed_up_on,
  changed_at::timestamp as changed_at
from {{ ref('raw_customers') }}
