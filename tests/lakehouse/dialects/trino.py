"""What Trino means by functions and operators, as its manual says."""

from __future__ import annotations

VALUES = """
CURRENT_DATE > CAST('2020-01-01' AS DATE) => boolean true
CURRENT_TIMESTAMP > CAST('2020-01-01 00:00:00' AS TIMESTAMP) => boolean true
NTH_VALUE(n, 1) OVER (ORDER BY n) => integer -7
NOW() > CAST('2020-01-01 00:00:00' AS timestamp) => boolean true
LAST_VALUE(n) IGNORE NULLS OVER (ORDER BY n) => integer -7
CAST(n AS smallint) => integer -7
CAST(n AS double) => double -7.0
CAST(n AS real) => double -7.0
CAST(n AS boolean) => boolean true
DATE_ADD('day', 1, a) => timestamp 2024-03-01 23:30:00
DATE_ADD('hour', n, b) => timestamp 2024-02-29 17:15:00
DATE_ADD('day', total, day) => date 2024-02-07
DATE_ADD('month', 1, day) => date 2024-02-29
DATE_DIFF('hour', a, b) => integer 0
DATE_DIFF('day', a, b) => integer 0
DATE_DIFF('minute', a, b) => integer 45
DATE_TRUNC('month', later) => date 2024-02-01
DATE_TRUNC('day', a) => timestamp 2024-02-29 00:00:00
DATE_TRUNC('week', later) => date 2024-02-12
a + INTERVAL '1' DAY => timestamp 2024-03-01 23:30:00
day + INTERVAL '1' MONTH => date 2024-02-29
YEAR(a) => integer 2024
QUARTER(a) => integer 1
MONTH(a) => integer 2
DAY(a) => integer 29
HOUR(a) => integer 23
MINUTE(a) => integer 30
SECOND(a) => integer 0
WEEK(later) => integer 7
DAY_OF_WEEK(later) => integer 3
DAY_OF_YEAR(later) => integer 45
DAY_OF_MONTH(later) => integer 14
EXTRACT(YEAR FROM a) => integer 2024
EXTRACT(DOW FROM later) => integer 3
EXTRACT(DOY FROM later) => integer 45
LAST_DAY_OF_MONTH(later) => date 2024-02-29
DATE('2024-02-29') => date 2024-02-29
DATE(a) => date 2024-02-29
DATE_FORMAT(a, '%Y-%m-%d') => text 2024-02-29
DATE_FORMAT(a, '%Y-%m-%d %H:%i:%s') => text 2024-02-29 23:30:00
DATE_PARSE('2024-02-29', '%Y-%m-%d') => timestamp 2024-02-29 00:00:00
CAST(a AS date) => date 2024-02-29
CAST('2024-02-29 10:11:12' AS timestamp) => timestamp 2024-02-29 10:11:12
total / 2 => integer 3
n / 2 => integer -3
price / 2 => decimal 3.5
price / 3 => decimal 2.33
1 / 3.0 => decimal 0.3
ratio / 2 => double 1.25
n % 4 => integer -3
MOD(n, 4) => integer -3
CAST(ratio AS integer) => integer 3
CAST(-2.5 AS integer) => integer -3
CAST(2.345 AS decimal(10, 2)) => decimal 2.35
CAST(n AS varchar) => text -7
CAST(s AS varchar(3)) => text Hel
CAST(yes AS integer) => integer 1
ROUND(ratio) => double 3.0
ROUND(-2.5) => decimal -3
ROUND(2.345, 2) => decimal 2.35
CEIL(ratio) => double 3.0
TRUNCATE(ratio) => double 2.0
POWER(2, 3) => double 8.0
POW(ratio, 2) => double 6.25
LN(ratio) => double 0.916290731874
LOG10(100) => double 2.0
s || t => text Hello Worldabc
s || nils => text NULL
CONCAT(s, t) => text Hello Worldabc
CONCAT(s, nils) => text NULL
CONCAT_WS('-', s, nils, t) => text Hello World-abc
LENGTH(s) => integer 11
SUBSTR(s, 7) => text World
SUBSTR(s, GREATEST(n, 1), 2) => text He
SUBSTR(s, GREATEST(nil, 1), 2) => text NULL
SUBSTR(s, GREATEST(n, 7)) => text World
LPAD(t, 5, 'x') => text xxabc
RPAD(t, 5, 'x') => text abcxx
STRPOS(s, 'l') => integer 3
POSITION('l' IN s) => integer 3
SPLIT(s, ' ') => array [Hello,World]
SPLIT('a.b', '.') => array [a,b]
STARTS_WITH(s, 'He') => boolean true
REGEXP_LIKE(s, '^H') => boolean true
REGEXP_LIKE(s, 'W[a-z]+') => boolean true
REGEXP_REPLACE(s, 'l+', 'L') => text HeLo WorLd
REGEXP_EXTRACT(s, 'W[a-z]+') => text World
REGEXP_EXTRACT(s, 'zz') => text NULL
REGEXP_EXTRACT(s, 'W([a-z]+)', 1) => text orld
TRANSLATE(s, 'lo', 'LO') => text HeLLO WOrLd
words[1] => text x
ELEMENT_AT(words, 1) => text x
ELEMENT_AT(words, 9) => text NULL
CARDINALITY(words) => integer 3
CONTAINS(words, 'x') => boolean true
ARRAY_JOIN(words, ',') => text x,y,z
ARRAY_DISTINCT(ARRAY[1, 1]) => array [1]
ARRAY_SORT(ARRAY[3, 1]) => array [1,3]
ARRAY[1, 2] => array [1,2]
GREATEST(n, nil, 3) => integer NULL
GREATEST(n, 3) => integer 3
LEAST(n, 3) => integer -7
IF(n < 0, 'a', 'b') => text a
n IS DISTINCT FROM nil => boolean true
BITWISE_AND(6, 3) => integer 2
BITWISE_OR(6, 3) => integer 7
BITWISE_XOR(6, 3) => integer 5
t || CAST(n + 1 AS varchar) => text abc-6
DATE_ADD('week', 1, day) => date 2024-02-07
TRIM(BOTH ' ' FROM '  x ') => text x
TRIM(LEADING ' ' FROM '  x') => text x
LOG(10, 1000) => double 3
REVERSE(t) => text cba
REVERSE('éa') => text aé
LOG10(1000) => double 3
DATE_DIFF('second', a, b) => integer 2700
DATE_DIFF('hour', b, a) => integer 0
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
LN(0) => double -Infinity
LN(-1) => double NaN
LOG10(z) => double -Infinity
ratio / 0 => double Infinity
-ratio / z => double -Infinity
SQRT(-1) => double NaN
LENGTH('é') => integer 1
FLOOR(-ratio) => double -3
TRUNCATE(-ratio) => double -2
CONTAINS(ARRAY[1, NULL], 5) => boolean NULL
CONTAINS(ARRAY[1, NULL], 1) => boolean true
CARDINALITY(ARRAY[1, NULL]) => integer 2
ARRAY_SORT(ARRAY[3, NULL, 1]) => array [1,3,null]
ARRAY_DISTINCT(ARRAY[1, NULL, 1, NULL]) => array [1,null]
ARRAY_JOIN(ARRAY['x', NULL, 'y'], ',') => text x,y
SPLIT('', ',') => array []
SUBSTR(t, 9) => text ''
STRPOS(t, '') => integer 1
BITWISE_AND(-7, 3) => integer 1
BITWISE_XOR(-7, 3) => integer -6
-7 / 2 => integer -3
-7 % 3 => integer -1
CAST(CONCAT('2024', '-02-29') AS date) => date 2024-02-29
CAST(1.5 AS decimal(3, 1)) => decimal 1.5
REGEXP_EXTRACT(t, 'zz') => text NULL
"""

ROWS = """
COUNT(*) FILTER (WHERE k > 1) => integer 2
AVG(k) => double 2.0
COUNT_IF(k > 1) => integer 2
BOOL_AND(f) => boolean false
BOOL_OR(f) => boolean true
STDDEV(x) => double 3.5
STDDEV_POP(x) => double 2.85773803325
VARIANCE(x) => double 12.25
VAR_POP(x) => double 8.16666666667
CORR(x, x) => double 1.0
MAX_BY(v, k) => text NULL
MIN_BY(v, k) => text a
LISTAGG(v, ',') WITHIN GROUP (ORDER BY v) => text a,b,d
"""

REFUSED = """
FROM_UNIXTIME(0)
TO_UNIXTIME(a)
a AT TIME ZONE 'Asia/Tokyo'
WITH_TIMEZONE(a, 'Asia/Tokyo')
AT_TIMEZONE(a, 'Asia/Tokyo')
SUBSTR(s, 0, 3)
SUBSTR(s, -3)
TYPEOF(n)
JSON_EXTRACT_SCALAR('{}', '$.a')
FORMAT('%s', s)
CURRENT_TIMEZONE()
SEQUENCE(1, 3)
EVERY(f)
ARRAY_AGG(k)
APPROX_DISTINCT(k)
APPROX_PERCENTILE(x, 0.5)
ARBITRARY(v)
CAST('1.5' AS DECIMAL)
SPLIT_PART(s, 'o', 9)
ARRAY_MAX(ARRAY[1, NULL, 3])
TRIM(s)
LTRIM(s)
LOG(2, 8)
TRY_CAST('2024' AS DATE)
TRY_CAST('yes' AS BOOLEAN)
TRY_CAST(s AS integer)
s LIKE t
REPLACE(s, '', 'x')
REPLACE(s, t, 'x')
DATE_DIFF('month', day, later)
DATE_ADD('day', ratio, day)
ROUND(ratio, 2)
SPLIT(s, t)
LPAD(t, n, 'x')
ASCII(s)
yes = 1
ratio % 2
REGEXP_LIKE(s, '\\w')
CAST('2024' AS DATE)
ARRAY_JOIN(ARRAY[1, 2], ',')
REGEXP_REPLACE(s, 'x*', '-')
"""
