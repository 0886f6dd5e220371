MODEL (
  name core.codes,
  kind SEED (path '$root/seeds/codes.csv', csv_settings (delimiter = ';', na_values = (code = ['-']))),
  columns (code text, since date)
);
