MODEL (
  name core.history,
  kind SCD_TYPE_2_BY_COLUMN (
    unique_key customer_id,
    columns (name, city),
    valid_from_name begins,
    valid_to_name ends,
    invalidate_hard_deletes true
  )
);

SELECT customer_id, name, region AS city FROM core.people
