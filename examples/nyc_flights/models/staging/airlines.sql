MODEL (
  name staging.airlines,
  kind SEED (path '../../seeds/airlines.csv'),
  owner 'flights',
  description 'Names of the airlines, one row per carrier code',
  grain carrier,
  columns (
    carrier string,
    name string
  )
);
