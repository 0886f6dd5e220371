MODEL (name core.people, kind VIEW, dialect snowflake, project other);

SELECT c.customer_id, c.name, o.region, IFF(c.is_gone, 'gone', 'there') AS state
FROM core.customers AS c LEFT JOIN core.orders AS o ON o.customer_id = c.customer_id
