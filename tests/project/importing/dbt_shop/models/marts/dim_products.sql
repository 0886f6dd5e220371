select
  sku, kind, "Product Name", "Price (EUR)",
  weight_text::integer as weight_g,
  len(tags) as n_tags,
  list_contains(tags, 'tea') as is_tea
from {{ ref('stg_products') }}
