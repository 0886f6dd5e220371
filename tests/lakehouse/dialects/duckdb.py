"""Functions and operators of DuckDB; DuckDB itself gives the expected results."""

from __future__ import annotations

VALUES = r"""
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
DATE_PART('month', a)
MAKE_DATE(2024, 2, 29)
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
SUBSTRING(s FROM 2 FOR 3)
SUBSTR(s, 2)
LEFT(s, 2)
RIGHT(s, 2)
LPAD(t, 5, 'x')
RPAD(t, 5, 'x')
LPAD(t, 2, 'x')
REPEAT(t, 2)
REPLACE(s, 'l', 'L')
REPLACE(s, '', 'L')
TRANSLATE(s, 'lo', 'LO')
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
ARRAY_LENGTH(words, 1)
ARRAY_TO_STRING(words, ',')
ARRAY[1, 2]
'x' = ANY(words)
6 & 3
6 | 3
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
DATE_ADD(a, INTERVAL 1 DAY)
DATE_DIFF('day', a, b)
DATE_DIFF('hour', a, b)
DATE_DIFF('week', day, later)
DATE_DIFF('quarter', day, b)
DATE_DIFF('month', day, later)
DATE_DIFF('year', day, later)
DATE_DIFF('minute', a, b)
DATE_TRUNC('day', a)
DATE_TRUNC('day', later)
total // 2
total % 4
n // 2
7 / 2
7.0 / 2
YEAR(a)
MONTH(a)
DAY(a)
HOUR(a)
MINUTE(a)
QUARTER(a)
WEEK(later)
DAYOFWEEK(later)
DAYOFYEAR(later)
ISODOW(later)
LAST_DAY(later)
STRFTIME(a, '%Y-%m-%d')
STRPTIME('2024-02-29', '%Y-%m-%d')
TO_TIMESTAMP(0)
MAKE_TIMESTAMP(2024, 2, 29, 1, 2, 3.0)
CAST('2024-02-29' AS DATE) + 1
IFNULL(nil, n)
IF(n < 0, 'a', 'b')
LEN(s)
CONTAINS(s, 'lo')
ENDS_WITH(s, 'ld')
INSTR(s, 'l')
[1, 2, 3][2]
REGEXP_MATCHES(s, '^H')
REGEXP_EXTRACT(s, 'W(\w+)', 1)
STRING_SPLIT(s, ' ')
XOR(6, 3)
2 ** 3
-2 ** 2
PI()
LOG10(100)
LCASE(s)
UCASE(s)
b - a > INTERVAL 44 MINUTES
a + INTERVAL 1 DAY
CAST(n AS SMALLINT)
CAST(n AS TINYINT)
CAST(n AS REAL)
CAST(n AS DOUBLE)
CAST(n AS VARCHAR)
CAST(n AS DECIMAL(10, 2))
CURRENT_DATE > DATE '2020-01-01'
LAST_VALUE(n IGNORE NULLS) OVER (ORDER BY n)
NOW() > CAST('2020-01-01 00:00:00' AS TIMESTAMPTZ)
NTH_VALUE(n, 1) OVER (ORDER BY n)
LEFT(s, -2)
RIGHT(s, -2)
LEFT(s, n)
RIGHT(s, n + z)
LEFT(t, 0)
LOG10(1000)
LOG(1000)
LN(0)
LN(z)
LN(-ratio)
LOG10(z)
LOG(z)
ratio / 0
-ratio / z
n / z
z / z
n / nil
DATE_PART('year', a)
DATE_PART('quarter', a)
DATE_PART('week', later)
DATE_PART('day', a)
DATE_PART('doy', later)
DATE_PART('hour', a)
DATE_PART('minute', a)
DATE_TRUNC('second', a)
DATE_TRUNC('month', later)
DATE_DIFF('second', a, b)
DATE_DIFF('second', CAST('1900-01-01' AS TIMESTAMP), a)
DATE_DIFF('day', later, day)
EXTRACT(SECOND FROM CAST('2024-02-29 10:11:12.9' AS TIMESTAMP))
LENGTH('é')
LENGTH('')
ASCII('é')
ASCII('')
SPLIT_PART(t, 'b', 9)
STRPOS(t, '')
REPEAT(t, -1)
REPEAT(t, 0)
LPAD('é', 3, 'ü')
LPAD(t, 0, 'x')
SUBSTRING(t, 9)
SUBSTRING(t, 2, 0)
TRANSLATE(t, 'aa', 'xy')
TRANSLATE(t, 'ab', 'x')
FLOOR(-ratio)
CEIL(-ratio)
TRUNC(-ratio)
FLOOR(ratio * 1e300)
CEIL(ratio / 0)
FLOOR(z / z)
-7 // 2
n // 2
-7 % 3
n & 3
n | 3
XOR(n, 3)
~n
SQRT(-1)
POWER(2, -1)
CAST(1.2345 AS DECIMAL)
CAST('2024' || '-02-29' AS date)
CAST('2024-02-29' || ' 10:11:12.5' AS timestamp)
TO_TIMESTAMP(-1)
ARRAY_LENGTH([1, NULL], 1)
ARRAY_TO_STRING(['x', NULL, 'y'], ',')
5 = ANY([1, NULL])
STRING_SPLIT('', ',')
REGEXP_EXTRACT(s, 'zz')
REGEXP_EXTRACT(s, 'z(z)', 1)
REGEXP_EXTRACT(nils, 'zz')
REGEXP_MATCHES(t || CHR(10), 'c$')
REGEXP_MATCHES(CHR(13), '.')
REGEXP_MATCHES(CHR(10), '.')
REGEXP_MATCHES('é', '\w')
REGEXP_MATCHES(CHR(11), '\s')
REGEXP_REPLACE('axbxx', 'x|b', '-', 'g')
GREATEST(nil, nil)
TRIM('')
CONCAT_WS('-', nils, nils)
CONTAINS(t, '')
MAKE_TIMESTAMP(2024, 2, 29, 1, 2, 3.5)
CAST('2024-01-31' AS DATE) - INTERVAL 2 MONTH
ROUND(-ratio)
ROUND(price / 3)
DAYOFWEEK(CAST('2024-03-03' AS DATE))
ISODOW(CAST('2024-03-03' AS DATE))
WEEK(CAST('2024-12-30' AS DATE))
EXTRACT(ISOYEAR FROM CAST('2024-12-30' AS DATE))
LAST_DAY(a)
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
MEDIAN(x)
COUNT_IF(f)
SUM(CASE WHEN f THEN 1 ELSE 0 END)
STRING_AGG(CASE WHEN k > 9 THEN v END, ',')
BOOL_AND(CASE WHEN k > 9 THEN f END)
BIT_OR(CASE WHEN k > 9 THEN k END)
STDDEV(CASE WHEN k = 1 THEN x END)
MEDIAN(k)
COUNT_IF(k > 9)
SUM(CASE WHEN k > 9 THEN k END)
"""

REFUSED = """
AGE(b, a)
EPOCH(a)
ROUND(n, -2)
SUBSTRING(s, 0, 3)
SUBSTRING(s, -1, 4)
REGEXP_REPLACE(s, 'l', 'L')
REGEXP_FULL_MATCH(s, 'H')
a AT TIME ZONE 'America/New_York'
CAST(a AS timestamp) AT TIME ZONE 'America/New_York'
s[1:3]
words[1:2]
[1, 2, 3][-1]
DATE_SUB('day', a, b)
GCD(12, 18)
PREFIX(s, 'He')
SIGN(n)
LIST_AGGREGATE([1, 2], 'sum')
6 & 3 + 1
ARRAY_AGG(n)
MAX_BY(s, n)
QUANTILE_CONT(n, 0.5)
STRFTIME(a, '%B')
CAST(ratio AS text)
MY_UDF(a)
DATE_PART('dow', later)
DATE_PART('dayofweek', later)
DATE_PART('second', a)
DATE_PART('epoch', a)
DATE_PART('isodow', later)
DATE_PART('yearweek', later)
DATE_PART('decade', later)
DATE_PART(t, later)
1 << 40
n << 31
16 >> 2
7.5 // 2
ratio // 2
BIT_COUNT(-1)
SPLIT_PART(t, '', 1)
SPLIT_PART(t, s, 1)
SPLIT_PART(t, 'b', 0)
TRY_CAST('1.5' AS INT)
TRY_CAST('2024' AS DATE)
TRY_CAST(s AS INT)
CAST('1.5' AS INT)
CAST('2024' AS DATE)
LEN([1])
s LIKE t
s ILIKE t
TO_TIMESTAMP(1.5)
TO_TIMESTAMP(ratio)
REVERSE(s)
LOG2(8)
CHR(8364)
ROUND(ratio, 2)
ratio % 2
yes = 1
STRING_SPLIT(s, '')
LPAD(t, 5, '')
LPAD(t, -1, 'x')
SUBSTRING(t, 2, n)
ARRAY_TO_STRING([1.5], ',')
CORR(ratio, ratio)
MEDIAN(price)
REGEXP_REPLACE(s, 'x*', '-', 'g')
STRING_AGG(n, ',')
DATE_TRUNC('decade', a)
UPPER(ratio)
SUM(yes)
"""
