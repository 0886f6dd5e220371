"""What Redshift means by functions and operators, as its manual says."""

from __future__ import annotations

VALUES = """
AVG(n) OVER () => integer -7
CURRENT_DATE > CAST('2020-01-01' AS DATE) => boolean true
CURRENT_TIMESTAMP > CAST('2020-01-01 00:00:00' AS TIMESTAMP) => boolean true
NTH_VALUE(n, 1) OVER (ORDER BY n) => integer -7
GETDATE() > CAST('2020-01-01 00:00:00' AS TIMESTAMP) => boolean true
CAST(n AS smallint) => integer -7
CAST(n AS float8) => double -7.0
CAST(n AS real) => double -7.0
CAST(yes AS boolean) => boolean true
a + INTERVAL '1 day' => timestamp 2024-03-01 23:30:00
DATEADD(day, 1, a) => timestamp 2024-03-01 23:30:00
DATEADD(hour, n, b) => timestamp 2024-02-29 17:15:00
DATEADD(month, 1, day) => timestamp 2024-02-29 00:00:00
DATEDIFF(month, a, b) => integer 1
DATEDIFF(hour, a, b) => integer 1
DATEDIFF(day, a, b) => integer 1
DATEDIFF(year, day, later) => integer 0
DATE_TRUNC('month', a) => timestamp 2024-02-01 00:00:00
DATE_TRUNC('week', a) => timestamp 2024-02-26 00:00:00
TRUNC(a) => date 2024-02-29
later - day => integer 14
day + 1 => date 2024-02-01
EXTRACT(year FROM a) => integer 2024
EXTRACT(month FROM later) => integer 2
EXTRACT(dow FROM later) => integer 3
EXTRACT(doy FROM later) => integer 45
EXTRACT(hour FROM a) => integer 23
DATE_PART(month, a) => integer 2
LAST_DAY(later) => date 2024-02-29
TO_CHAR(a, 'YYYY-MM-DD') => text 2024-02-29
TO_CHAR(a, 'YYYYMMDD') => text 20240229
TO_DATE('20240229', 'YYYYMMDD') => date 2024-02-29
CAST('2024-02-29 10:11:12' AS timestamp) => timestamp 2024-02-29 10:11:12
a::date => date 2024-02-29
CONVERT_TIMEZONE('America/New_York', a) => timestamp 2024-02-29 18:30:00
CONVERT_TIMEZONE('UTC', 'Asia/Tokyo', a) => timestamp 2024-03-01 08:30:00
CAST(a AS timestamptz) AT TIME ZONE 'Asia/Tokyo' => timestamp 2024-03-01 08:30:00
total / 2 => integer 3
n / 2 => integer -3
ratio / 2 => double 1.25
MOD(n, 4) => integer -3
n % 4 => integer -3
CAST('12' AS int) => integer 12
CAST(2.345 AS decimal(10, 2)) => decimal 2.35
CAST(n AS varchar) => text -7
CAST(later AS varchar) => text 2024-02-14
CAST(yes AS int) => integer 1
ROUND(price / 3, 2) => decimal 2.33
ROUND(-2.5) => decimal -3
CEIL(ratio) => double 3.0
CAST(FLOOR(ratio) AS int) => integer 2
CAST(-CEIL(ratio) AS int) => integer -3
CAST(CEIL(price / 2) AS int) => integer 4
CAST(TRUNC(ratio) AS int) => integer 2
TRUNC(ratio) => double 2.0
POWER(2, 3) => double 8.0
LN(ratio) => double 0.916290731874
LOG(100) => double 2.0
s || t => text Hello Worldabc
s || nils => text NULL
CONCAT(s, t) => text Hello Worldabc
CONCAT(s, nils) => text NULL
LEN(s) => integer 11
LENGTH(s) => integer 11
SUBSTRING(s, 0, 3) => text He
SUBSTRING(s, -1, 4) => text He
SUBSTRING(s, 7, 5) => text World
LEFT(s, 2) => text He
RIGHT(s, 2) => text ld
LPAD(t, 5, 'x') => text xxabc
RPAD(t, 5, 'x') => text abcxx
REPEAT(t, 2) => text abcabc
TRIM('  x ') => text x
TRIM(BOTH 'a' FROM 'abca') => text bc
TRANSLATE(s, 'lo', 'LO') => text HeLLO WOrLd
POSITION('l' IN s) => integer 3
STRPOS(s, 'l') => integer 3
CHARINDEX('l', s) => integer 3
SPLIT_PART(s, ' ', 2) => text World
s ILIKE 'h%' => boolean true
s ~ '^H.*d$' => boolean true
REGEXP_REPLACE(s, 'l+', 'L') => text HeLo WorLd
GREATEST(n, nil, 3) => integer 3
LEAST(n, nil, 3) => integer -7
NVL(nil, n) => integer -7
NVL2(nil, 1, 2) => integer 2
MD5(t) => text 900150983cd24fb0d6963f7d28e17f72
t || n + 1 => text abc-6
6 & 3 => integer 2
EXTRACT(week FROM later) => integer 7
DECODE(n, -7, 'a', 'b') => text a
LTRIM('  x') => text x
RTRIM('x  ') => text x
REVERSE(t) => text cba
REVERSE('éa') => text aé
ASCII(t) => integer 97
DATEDIFF(quarter, a, b) => integer 0
DATEDIFF(minute, a, b) => integer 45
DATEDIFF(second, a, b) => integer 2700
DATE_TRUNC('year', a) => timestamp 2024-01-01 00:00:00
DATE_TRUNC('quarter', a) => timestamp 2024-01-01 00:00:00
DATE_TRUNC('day', a) => timestamp 2024-02-29 00:00:00
DATE_TRUNC('hour', a) => timestamp 2024-02-29 23:00:00
DATE_TRUNC('minute', a) => timestamp 2024-02-29 23:30:00
DATE_TRUNC('second', a) => timestamp 2024-02-29 23:30:00
CAST(s AS varchar) => text Hello World
LOG(1000) => double 3
LEN('é') => integer 1
ASCII('é') => integer 233
FLOOR(-ratio) => double -3
TRUNC(-ratio) => double -2
-7 / 2 => integer -3
n & 3 => integer 1
DECODE(nil, NULL, 'a', 'b') => text a
SUBSTRING(t, 9, 2) => text ''
CAST('2024' || '-02-29' AS date) => date 2024-02-29
REGEXP_REPLACE('axbxx', 'x+', '-') => text a-b-
"""

ROWS = """
AVG(k) => integer 2
STDDEV_SAMP(x) => double 3.5
STDDEV_POP(x) => double 2.85773803325
VAR_SAMP(x) => double 12.25
VAR_POP(x) => double 8.16666666667
BOOL_AND(f) => boolean false
BOOL_OR(f) => boolean true
LISTAGG(v, ',') WITHIN GROUP (ORDER BY v) => text a,b,d
MEDIAN(x) => double 1.5
LISTAGG(CASE WHEN k > 9 THEN v END, ',') => text NULL
"""

REFUSED = """
AVG(total) OVER ()
ADD_MONTHS(later, 1)
CONVERT_TIMEZONE('Asia/Tokyo', 'UTC', a)
CAST(ratio AS int)
ROUND(ratio)
INITCAP('hello wORLD')
REGEXP_SUBSTR(s, 'W[a-z]+')
6 & 3 + 1
MONTHS_BETWEEN(a, b)
COALESCE(a, SYSDATE)
JSON_EXTRACT_PATH_TEXT('{}', 'a')
PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)
APPROXIMATE COUNT(DISTINCT k)
CAST(s AS varchar(3))
CAST(yes AS varchar)
SPLIT_PART(s, t, 1)
SPLIT_PART(s, '', 1)
STRPOS(s, t)
REPLACE(s, t, 'x')
s LIKE t
LPAD(t, n, 'x')
STDDEV_SAMP(n)
MEDIAN(price)
REGEXP_REPLACE(s, 'l|o', 'L')
REGEXP_REPLACE(s, 'l*', 'L')
yes = 1
CAST('1.5' AS int)
CAST('2024' AS date)
LISTAGG(n, ',')
ROUND(ratio, 2)
"""
