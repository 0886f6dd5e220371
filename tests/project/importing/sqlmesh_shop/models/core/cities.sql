MODEL (name core.cities, kind SEED (path '../../seeds/cities.csv'));
