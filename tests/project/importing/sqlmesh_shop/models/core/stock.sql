MODEL (
  name core.stock, kind INCREMENTAL_BY_PARTITION, partitioned_by region, dialect spark,
  description "It's what lies there", column_descriptions (region = 'where', pieces = 'how many'),
  columns (region text, pieces bigint)
);

SELECT /*+ REPARTITION(3) */ region, count(*) AS pieces -- as it was written
FROM raw.orders GROUP BY ALL
