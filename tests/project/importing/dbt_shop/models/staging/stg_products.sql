select
  sku,
  kind,
  "Product Name",
  {{ euros('price_cents') }} as "Price (EUR)",
  attributes::json ->> '$.weight' as weight_text,
  (attributes::json -> '$.tags')::varchar[] as tags
from {{ ref('raw_products') }}
