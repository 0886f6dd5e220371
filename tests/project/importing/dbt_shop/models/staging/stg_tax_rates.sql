-- depends_on: {{ ref('tax_rates') }}
-- The table of the seed, read as a source.
select country, valid_from, rate from {{ source('office', 'rates') }}
