"""What Snowflake means by functions and operators, as its manual says."""

from __future__ import annotations

VALUES = """
a + INTERVAL '1 day' => timestamp 2024-03-01 23:30:00
CURRENT_DATE > CAST('2020-01-01' AS DATE) => boolean true
CURRENT_TIMESTAMP > CAST('2020-01-01 00:00:00' AS TIMESTAMP) => boolean true
NTH_VALUE(n, 1) OVER (ORDER BY n) => integer -7
CURRENT_DATE() > CAST('2020-01-01' AS DATE) => boolean true
LAST_VALUE(n IGNORE NULLS) OVER (ORDER BY n) => integer -7
LAST_VALUE(n) IGNORE NULLS OVER (ORDER BY n) => integer -7
CAST('2024-02-29 10:11:12' AS TIMESTAMP_NTZ) => timestamp 2024-02-29 10:11:12
n::string => text -7
n::text => text -7
n::number => decimal -7
n::double => double -7.0
n::smallint => integer -7
DATEADD(day, 1, a) => timestamp 2024-03-01 23:30:00
DATEADD(day, n, day) => date 2024-01-24
DATEADD(month, 1, day) => date 2024-02-29
DATEADD(week, 1, day) => date 2024-02-07
DATEADD(quarter, 1, a) => timestamp 2024-05-29 23:30:00
DATEADD(minute, n * 2, b) => timestamp 2024-03-01 00:01:00
DATEADD(hour, 1, a) => timestamp 2024-03-01 00:30:00
DATEDIFF(day, a, b) => integer 1
DATEDIFF(hour, a, b) => integer 1
DATEDIFF(month, a, b) => integer 1
DATEDIFF(year, a, b) => integer 0
DATEDIFF(minute, a, b) => integer 45
DATEDIFF(week, day, later) => integer 2
TIMESTAMPDIFF(minute, a, b) => integer 45
DATE_TRUNC('day', a) => timestamp 2024-02-29 00:00:00
DATE_TRUNC('month', later) => date 2024-02-01
DATE_TRUNC('week', later) => date 2024-02-12
TRUNC(a, 'hour') => timestamp 2024-02-29 23:00:00
later - day => integer 14
day + 1 => date 2024-02-01
DAYOFWEEK(later) => integer 3
DAYOFYEAR(later) => integer 45
DAYOFMONTH(later) => integer 14
YEAR(a) => integer 2024
MONTH(a) => integer 2
DAY(a) => integer 29
HOUR(a) => integer 23
MINUTE(a) => integer 30
SECOND(a) => integer 0
QUARTER(a) => integer 1
WEEK(later) => integer 7
EXTRACT(year FROM a) => integer 2024
EXTRACT(month FROM a) => integer 2
DATE_PART('day', a) => integer 29
LAST_DAY(later) => date 2024-02-29
DATE_FROM_PARTS(2024, 2, 29) => date 2024-02-29
TO_DATE('2024-02-29') => date 2024-02-29
TO_DATE('20240229', 'YYYYMMDD') => date 2024-02-29
TO_TIMESTAMP('2024-02-29 10:11:12', 'YYYY-MM-DD HH24:MI:SS') => timestamp 2024-02-29 10:11:12
TO_CHAR(a, 'YYYY-MM-DD') => text 2024-02-29
TO_CHAR(a, 'YYYYMMDDHH24MISS') => text 20240229233000
TO_CHAR(CAST(a AS TIMESTAMP), 'YYYY-MM-DD HH24:MI:SS') => text 2024-02-29 23:30:00
TO_CHAR(CAST(later AS DATE), 'YYYYMMDD') => text 20240214
'2024-02-29'::date => date 2024-02-29
a::date => date 2024-02-29
CONVERT_TIMEZONE('UTC', 'America/New_York', a) => timestamp 2024-02-29 18:30:00
total / 2 => decimal 3.5
1 / 3 => decimal 0.333333
price / 3 => decimal 2.33333333
ratio / 2 => double 1.25
MOD(n, 4) => integer -3
n % 4 => integer -3
DIV0(total, 0) => decimal 0
DIV0(total, 2) => decimal 3.5
2000000000 * 3 => integer 6000000000
CAST(ratio AS INT) => integer 3
CAST(-2.5 AS INT) => integer -3
CAST(3000000000 AS INT) => integer 3000000000
CAST(2.345 AS NUMBER(10, 2)) => decimal 2.35
CAST('12' AS INT) => integer 12
n::varchar => text -7
later::varchar => text 2024-02-14
price::varchar => text 7.00
yes::varchar => text true
yes::int => integer 1
'true'::boolean => boolean true
1::boolean => boolean true
n::float => double -7.0
ROUND(ratio) => double 3.0
ROUND(price / 3, 2) => decimal 2.33
ROUND(-2.5) => decimal -3
CEIL(ratio) => double 3.0
CEIL(price) => decimal 7
TRUNC(-2.7) => decimal -2
POWER(2, 3) => double 8.0
LN(ratio) => double 0.916290731874
LOG(10, 100) => double 2.0
s || t => text Hello Worldabc
s || nils => text NULL
s || n => text Hello World-7
CONCAT(s, t) => text Hello Worldabc
CONCAT(s, nils) => text NULL
CONCAT_WS('-', s, t) => text Hello World-abc
CONCAT_WS('-', s, nils) => text NULL
LENGTH(s) => integer 11
LEN(s) => integer 11
SUBSTR(s, 7) => text World
SUBSTR(s, GREATEST(n, 1), 2) => text He
SUBSTR(s, GREATEST(nil, 1), 2) => text NULL
SUBSTR(s, GREATEST(n, 7)) => text World
SUBSTR(s, POSITION('W', s) + 1, 2) => text or
LEFT(s, 2) => text He
RIGHT(s, 2) => text ld
LPAD(t, 5, 'x') => text xxabc
RPAD(t, 5, 'x') => text abcxx
REPEAT(t, 2) => text abcabc
TRIM('  x ') => text x
TRIM('xxyx', 'x') => text y
LTRIM('xxy', 'x') => text y
CHARINDEX('l', s) => integer 3
POSITION('l', s) => integer 3
POSITION('l' IN s) => integer 3
STARTSWITH(s, 'He') => boolean true
ENDSWITH(s, 'ld') => boolean true
CONTAINS(s, 'lo') => boolean true
SPLIT_PART(s, ' ', 2) => text World
SPLIT_PART(s, ' ', 5) = '' => boolean true
SPLIT_PART(s, ' ', -1) => text World
s ILIKE 'h%' => boolean true
REGEXP_LIKE(s, 'Hello.*') => boolean true
REGEXP_LIKE(s, 'Hello') => boolean false
REGEXP_REPLACE(s, 'l+', 'L') => text HeLo WorLd
SPLIT(s, ' ') => array [Hello,World]
SPLIT('a.b', '.') => array [a,b]
SPLIT(s, ' ')[1] => text World
words[0] => text x
words[9] => text NULL
ARRAY_SIZE(words) => integer 3
GREATEST(n, 3) => integer 3
GREATEST(n, nil) => integer NULL
LEAST(n, 3) => integer -7
IFF(n < 0, 'a', 'b') => text a
IFNULL(nil, n) => integer -7
NVL(nil, n) => integer -7
NVL2(nil, 1, 2) => integer 2
ZEROIFNULL(nil) => integer 0
NULLIFZERO(z) => integer NULL
EQUAL_NULL(nil, nil) => boolean true
n IS DISTINCT FROM nil => boolean true
DECODE(n, -7, 'a', 'b') => text a
BITAND(6, 3) => integer 2
BITOR(6, 3) => integer 7
BITXOR(6, 3) => integer 5
MD5(t) => text 900150983cd24fb0d6963f7d28e17f72
s || t || 'x' => text Hello Worldabcx
LTRIM('  x') => text x
RTRIM('x  ') => text x
REVERSE(t) => text cba
REVERSE('éa') => text aé
DATEDIFF(quarter, a, b) => integer 0
DATEDIFF(second, a, b) => integer 2700
DATEDIFF(second, CAST('1900-01-01' AS DATE), a) => integer 3918238200
DATE_TRUNC('year', a) => timestamp 2024-01-01 00:00:00
DATE_TRUNC('quarter', a) => timestamp 2024-01-01 00:00:00
DATE_TRUNC('month', a) => timestamp 2024-02-01 00:00:00
DATE_TRUNC('week', a) => timestamp 2024-02-26 00:00:00
DATE_TRUNC('hour', a) => timestamp 2024-02-29 23:00:00
DATE_TRUNC('minute', a) => timestamp 2024-02-29 23:30:00
DATE_TRUNC('second', a) => timestamp 2024-02-29 23:30:00
DATE_TRUNC('year', later) => date 2024-01-01
DATE_TRUNC('quarter', later) => date 2024-01-01
DATE_TRUNC('day', later) => date 2024-02-14
LOG(10, 1000) => double 3
LENGTH('é') => integer 1
LENGTH('') => integer 0
FLOOR(-ratio) => double -3
CEIL(-ratio) => double -2
SPLIT_PART('a.b', '.', 3) => text ''
SPLIT('', ',') => array []
ARRAY_SIZE(SPLIT('', ',')) => integer 1
BITAND(-7, 3) => integer 1
BITXOR(-7, 3) => integer -6
BITOR(-7, 3) => integer -5
DECODE(nil, NULL, 'a', 'b') => text a
EQUAL_NULL(nil, n) => boolean false
LEFT(t, 0) => text ''
SUBSTR(t, 9) => text ''
CHARINDEX('', t) => integer 1
GREATEST(nil, nil) => integer NULL
IFF(NULL, 1, 2) => integer 2
MOD(-7, 3) => integer -1
DATEDIFF(day, later, day) => integer -14
DATEADD(month, -2, CAST('2024-01-31' AS DATE)) => date 2023-11-30
('2024' || '-02-29')::date => date 2024-02-29
REGEXP_LIKE(s || 'x', 'Hello World') => boolean false
LAST_VALUE(n) OVER (PARTITION BY s ORDER BY n) => integer -7
"""

ROWS = """
AVG(k) => decimal 2
AVG(m) => decimal 3.583333
COUNT_IF(k > 1) => integer 2
BOOLAND_AGG(f) => boolean false
BOOLOR_AGG(f) => boolean true
STDDEV(x) => double 3.5
STDDEV_POP(x) => double 2.85773803325
VARIANCE(x) => double 12.25
VAR_POP(x) => double 8.16666666667
CORR(x, x) => double 1.0
LISTAGG(v, ',') WITHIN GROUP (ORDER BY v) => text a,b,d
LISTAGG(v, ',') WITHIN GROUP (ORDER BY v DESC) => text d,b,a
MEDIAN(x) => double 1.5
LISTAGG(CASE WHEN k > 9 THEN v END, ',') WITHIN GROUP (ORDER BY v) => text ''
LISTAGG(CASE WHEN k > 9 THEN v END, ',') => text ''
BOOLAND_AGG(CASE WHEN k > 9 THEN f END) => boolean NULL
COUNT_IF(k > 9) => integer 0
"""

REFUSED = """
a + INTERVAL '1 day, 2 hours'
PARSE_JSON('{}'):a
ADD_MONTHS(CAST('2024-02-29' AS DATE), 1)
CONVERT_TIMEZONE('America/New_York', a)
CONVERT_TIMEZONE('America/New_York', 'UTC', a)
SIGN(n)
INITCAP('hello wORLD')
ARRAY_TO_STRING(words, ',')
t || n + 1
CAST(ratio AS VARCHAR)
CAST(a AS VARCHAR)
SUBSTR(s, 0, 3)
SUBSTR(s, -3)
PARSE_JSON('{}')
OBJECT_CONSTRUCT('a', 1)
UNIFORM(1, 2, RANDOM())
MONTHNAME(a)
DAYNAME(a)
TO_CHAR(a, 'MON')
TO_NUMBER('1')
TIMESTAMP_LTZ_FROM_PARTS(2024, 1, 1, 0, 0, 0)
HASH(s)
NEXT_DAY(later, 'mo')
MY_UDF(a)
ARRAY_AGG(v) WITHIN GROUP (ORDER BY v)
MODE(k)
PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)
APPROX_COUNT_DISTINCT(k)
ASCII(s)
TRY_CAST('1.5' AS INT)
TRY_CAST('x' AS INT)
'1.5'::INT
'2024'::DATE
SPLIT_PART(s, 'o', 0)
SPLIT_PART(s, 'o', n)
SPLIT_PART(s, t, 1)
DATEADD(day, 1.5, day)
DATEADD(day, price, day)
s LIKE t
LOG(2, 8)
LISTAGG(n, ',')
DATE_FROM_PARTS(2024, 13, 1)
DATE_FROM_PARTS(2024, n, 1)
LPAD(t, 5, '')
REPLACE(s, t, 'x')
STDDEV(n)
MEDIAN(n)
BITAND(price, 3)
yes = 1
s = 1
ROUND(ratio, 2)
TO_DATE(s)
LAST_DAY(later, 'week')
"""
