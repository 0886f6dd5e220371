AUDIT (name whole_shares, blocking false, defaults (places = 2));
SELECT * FROM marts.ranking WHERE share <> ROUND(share, @places);

AUDIT (name nobody, standalone true);
SELECT * FROM core.people WHERE name IS NULL;
