"""Functions and operators of PostgreSQL; PostgreSQL itself gives the expected results."""

from __future__ import annotations

VALUES = """
a + INTERVAL '1 day'
a - INTERVAL '2 hours'
day + 1
day - 1
later - day
day + INTERVAL '1 month'
DATE_TRUNC('month', a)
DATE_TRUNC('week', a)
DATE_TRUNC('quarter', a)
DATE_TRUNC('year', later)
DATE_TRUNC('hour', b)
DATE_TRUNC('minute', b)
EXTRACT(YEAR FROM a)
EXTRACT(QUARTER FROM a)
EXTRACT(MONTH FROM later)
EXTRACT(WEEK FROM later)
EXTRACT(DAY FROM later)
EXTRACT(DOY FROM later)
EXTRACT(DOW FROM later)
EXTRACT(ISODOW FROM later)
EXTRACT(ISOYEAR FROM later)
EXTRACT(HOUR FROM a)
EXTRACT(MINUTE FROM a)
EXTRACT(SECOND FROM a)
EXTRACT(EPOCH FROM a)
DATE_PART('month', a)
MAKE_DATE(2024, 2, 29)
TO_CHAR(a, 'YYYY-MM-DD')
TO_CHAR(a, 'YYYY-MM-DD HH24:MI:SS')
TO_CHAR(a, 'YYYYMMDD')
TO_DATE('20240229', 'YYYYMMDD')
TO_DATE('2024-02-29', 'YYYY-MM-DD')
TO_TIMESTAMP('2024-02-29 10:11:12', 'YYYY-MM-DD HH24:MI:SS')
TO_TIMESTAMP(total)
CAST('2024-02-29' AS date)
CAST('2024-02-29 10:11:12' AS timestamp)
CAST(a AS date)
a::date
DATE '2024-02-29'
TIMESTAMP '2024-02-29 10:11:12'
total / 2
n / 2
n % 4
MOD(n, 4)
DIV(7, 2)
ratio / 2
price / 2
price * 2
price + ratio
1 / 3.0
total / NULLIF(z, 0)
POWER(2, 3)
2 ^ 3
-2 ^ 2
SQRT(16)
LN(ratio)
LOG(100)
EXP(1)
ABS(n)
ABS(price)
CEIL(ratio)
CEIL(price)
FLOOR(ratio)
FLOOR(n)
ROUND(ratio)
ROUND(price)
ROUND(2.5)
ROUND(-2.5)
ROUND(CAST(3.5 AS float8))
ROUND(2.345, 2)
TRUNC(price)
TRUNC(-2.7)
TRUNC(ratio)
SIGN(n)
SIGN(ratio)
CAST(ratio AS int)
CAST(3.5 AS int)
CAST(2.5 AS int)
CAST(CAST(3.5 AS float8) AS bigint)
CAST('12' AS int)
CAST('2.5' AS numeric)
CAST(n AS bigint)
CAST(n AS float8)
CAST(n AS numeric(10, 2))
CAST(n AS text)
CAST(day AS text)
CAST(price AS text)
CAST(yes AS text)
CAST(yes AS int)
CAST(1 AS boolean)
CAST('t' AS boolean)
CAST(s AS varchar(3))
s || t
s || nils
s || n
t || n + 1
t || (n + 1)
CONCAT(s, nils, t)
CONCAT(t, n)
CONCAT_WS('-', s, nils, t)
UPPER(s)
LOWER(s)
LENGTH(s)
CHAR_LENGTH(t)
SUBSTRING(s, 1, 5)
SUBSTRING(s, 7)
SUBSTRING(s, 0, 3)
SUBSTRING(s, -1, 4)
SUBSTRING(s FROM 2 FOR 3)
SUBSTR(s, 2)
LEFT(s, 2)
LEFT(s, -2)
RIGHT(s, 2)
RIGHT(s, -2)
LPAD(t, 5, 'x')
RPAD(t, 5, 'x')
LPAD(t, 2, 'x')
LPAD(t, 5)
REPEAT(t, 2)
REPLACE(s, 'l', 'L')
REPLACE(s, '', 'L')
TRANSLATE(s, 'lo', 'LO')
REVERSE(t)
TRIM('  x ')
TRIM(BOTH 'a' FROM 'abca')
LTRIM('  x')
RTRIM('x  ')
LTRIM('xxyx', 'x')
POSITION('l' IN s)
STRPOS(s, 'zz')
SPLIT_PART(s, ' ', 2)
SPLIT_PART(s, ' ', 3)
SPLIT_PART(s, ' ', -1)
SPLIT_PART('a.b', '.', 1)
ASCII(t)
CHR(65)
MD5(t)
STARTS_WITH(s, 'He')
s LIKE 'H%'
s LIKE 'h%'
s ILIKE 'h%'
s NOT LIKE '%z%'
s LIKE 'H_llo%'
'a%' LIKE 'a!%' ESCAPE '!'
s ~ '^H.*d$'
s ~* '^h'
s !~ 'z'
REGEXP_REPLACE(s, 'l+', 'L', 'g')
n IN (1, -7)
n NOT IN (1, 2)
n BETWEEN -10 AND 0
n BETWEEN SYMMETRIC 0 AND -10
n IS NULL
nil IS NOT NULL
n IS DISTINCT FROM nil
n IS NOT DISTINCT FROM nil
yes IS TRUE
yes AND NOT (n > 0)
n > 0 OR yes
n <> 1
n != 1
n >= -7
n <= -7
n < 0
n = -7
'abc' < 'abd'
'a' = 'a '
'B' < 'a'
NOT yes
COALESCE(nil, n)
NULLIF(n, -7)
GREATEST(n, nil, 3)
LEAST(n, nil, 3)
CASE WHEN n < 0 THEN 'neg' ELSE 'pos' END
CASE WHEN n > 0 THEN 1 END
CASE n WHEN 3 THEN 1 END
CASE n WHEN -7 THEN 1 ELSE 2 END
CAST(a AS timestamptz) AT TIME ZONE 'America/New_York'
CAST(CAST(a AS timestamptz) AT TIME ZONE 'Asia/Tokyo' AS date)
CAST(a AS timestamp) AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo'
words[1]
words[9]
CARDINALITY(words)
ARRAY_LENGTH(words, 1)
ARRAY_TO_STRING(words, ',')
ARRAY[1, 2]
'x' = ANY(words)
6 & 3
6 | 3
6 # 3
1 << 3
16 >> 2
~6
-n
+n
n + total
total * 3
n * total - 1
n - (total - 1)
n - (1 - z)
total / 2 * 2
total * 2 / 4
LAST_VALUE(n) OVER (ORDER BY n)
ROW_NUMBER() OVER (ORDER BY n)
RANK() OVER (ORDER BY n)
DENSE_RANK() OVER (ORDER BY n)
NTILE(2) OVER (ORDER BY n)
LAG(n) OVER (ORDER BY n)
LAG(n, 1, 0) OVER (ORDER BY n)
LEAD(n, 1, 0) OVER (ORDER BY n)
FIRST_VALUE(n) OVER (PARTITION BY s ORDER BY n)
SUM(n) OVER (PARTITION BY s)
PERCENT_RANK() OVER (ORDER BY n)
CUME_DIST() OVER (ORDER BY n)
CAST(n AS smallint)
a - INTERVAL '1 day 2 hours'
CAST(n AS real)
CAST(ratio AS double precision)
CAST(s AS varchar)
CAST('2024-02-29 10:11:12' AS timestamptz)
CURRENT_DATE > DATE '2020-01-01'
CURRENT_TIMESTAMP > TIMESTAMP '2020-01-01 00:00:00'
NOW() > TIMESTAMP '2020-01-01 00:00:00'
DATE_TRUNC('month', CURRENT_DATE) > TIMESTAMP '2020-01-01 00:00:00'
NTH_VALUE(n, 1) OVER (ORDER BY n)
b - a > INTERVAL '44 minutes'
DATE_TRUNC('day', a)
DATE_TRUNC('second', a)
LOG(1000)
LENGTH('é')
LENGTH('')
ASCII('é')
ASCII('')
SPLIT_PART(t, 'b', 9)
STRPOS(t, '')
REPEAT(t, -1)
LPAD('é', 3, 'ü')
LPAD(t, 0, 'x')
SUBSTRING(t, 9)
TRANSLATE(t, 'aa', 'xy')
TRANSLATE(t, 'ab', 'x')
REVERSE('éa')
FLOOR(-ratio)
CEIL(-ratio)
TRUNC(-ratio)
FLOOR(ratio * 1e300::float8)
-7 / 2
-7 % 3
n & 3
n | 3
n # 3
n << 31
n >> 1
~n
LEFT(s, n)
RIGHT(t, -9)
CAST('2024' || '-02-29' AS date)
CAST('2024-02-29' || ' 10:11:12.5' AS timestamp)
TO_TIMESTAMP(-1)
ARRAY_LENGTH(ARRAY[1, NULL], 1)
ARRAY_TO_STRING(ARRAY['x', NULL, 'y'], ',')
5 = ANY(ARRAY[1, NULL])
(t || CHR(10)) ~ 'c.$'
(t || CHR(10)) ~ 'c$'
GREATEST(nil, nil)
CONCAT_WS('-', nils, nils)
CAST('2024-01-31' AS DATE) - INTERVAL '2 months'
EXTRACT(SECOND FROM TIMESTAMP '2024-02-29 10:11:12.5')
EXTRACT(WEEK FROM DATE '2024-12-30')
EXTRACT(ISOYEAR FROM DATE '2024-12-30')
EXTRACT(EPOCH FROM TIMESTAMP '1969-12-31 23:59:59.5')
ROUND(-ratio)
POWER(2, -1)
"""

ROWS = """
COUNT(*)
COUNT(k)
COUNT(DISTINCT k)
SUM(k)
SUM(x)
SUM(m)
AVG(k)
AVG(x)
AVG(m)
MIN(k)
MAX(v)
MIN(x)
STDDEV(x)
STDDEV_POP(x)
STDDEV_SAMP(x)
VARIANCE(x)
VAR_POP(x)
VAR_SAMP(x)
CORR(x, x)
COVAR_POP(x, x)
COVAR_SAMP(x, x)
BOOL_AND(f)
BOOL_OR(f)
STRING_AGG(v, ',' ORDER BY v)
STRING_AGG(v, ',' ORDER BY v DESC)
COUNT(*) FILTER (WHERE k > 1)
SUM(k) FILTER (WHERE k > 1)
SUM(DISTINCT k)
BIT_AND(k)
BIT_OR(k)
STRING_AGG(CASE WHEN k > 9 THEN v END, ',')
BOOL_AND(CASE WHEN k > 9 THEN f END)
BIT_OR(CASE WHEN k > 9 THEN k END)
STDDEV(CASE WHEN k = 1 THEN x END)
SUM(CASE WHEN k > 9 THEN k END)
"""

REFUSED = """
EXTRACT(MILLENNIUM FROM a)
AGE(b, a)
DATE_BIN('15 minutes', a, TIMESTAMP '2001-01-01')
INITCAP(s)
ROUND(n, -2)
LN(price)
CAST(ratio AS text)
CAST(a AS text)
CAST(s AS char(3))
REGEXP_REPLACE(s, 'l', 'L')
REGEXP_REPLACE(s, 'l', 'L', 'gi')
s ~ '[[:alpha:]]+'
s SIMILAR TO 'H%'
a AT TIME ZONE 'America/New_York'
CAST(a AS timestamp) AT TIME ZONE 'America/New_York'
CAST(a AS timestamptz) AT TIME ZONE '+03'
CAST(a AS timestamptz) AT TIME ZONE s
words[0]
words[n]
TO_CHAR(a, 'Month')
TO_CHAR(price, '999')
6 & 3 + 1
6 | 3 & 2
1 << 2 + 1
n = total = yes
STRING_TO_ARRAY(s, ',')
JUSTIFY_DAYS(b - a)
WIDTH_BUCKET(5, 0, 10, 5)
OVERLAY(s PLACING 'x' FROM 2)
TO_CHAR(a, 'YYYY-MM-DD TZ')
MY_UDF(a)
CAST('12:00' AS time)
GENERATE_SERIES(1, 3)
ARRAY_AGG(n)
PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY n)
MODE() WITHIN GROUP (ORDER BY n)
a - INTERVAL '1 month 2 days'
SUBSTRING('a2b' FROM '2')
SUBSTRING(s FROM t)
SUBSTRING(s FROM '[0-9]')
TO_TIMESTAMP(1.5)
TO_TIMESTAMP(ratio)
SPLIT_PART(s, t, 1)
SPLIT_PART(s, ' ', n)
s LIKE t
CHR(8364)
CHR(n)
LPAD(t, n, 'x')
STDDEV(n)
STDDEV(price)
REGEXP_REPLACE(s, 'a|ab', 'L', 'g')
REGEXP_REPLACE(s, 'l*', 'L', 'g')
s ~ '\\w'
CAST(n AS smallint) << 15
CAST('1.5' AS int)
CAST('2024' AS date)
CAST('2024-02-29 10:00:00+02' AS timestamp)
yes = n
ARRAY_LENGTH(words, 2)
SIGN(price)
ARRAY_TO_STRING(ARRAY[1.5], ',')
UPPER(ratio)
SUM(yes)
DATE_TRUNC('decade', a)
"""
