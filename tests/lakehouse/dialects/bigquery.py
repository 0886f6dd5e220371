"""What BigQuery means by functions and operators, as its manual says."""

from __future__ import annotations

VALUES = r"""
b - INTERVAL n MINUTE => timestamp 2024-03-01 00:22:00
day + INTERVAL 1 DAY => timestamp 2024-02-01 00:00:00
CURRENT_DATE > CAST('2020-01-01' AS DATE) => boolean true
CURRENT_TIMESTAMP > CAST('2020-01-01 00:00:00' AS TIMESTAMP) => boolean true
NTH_VALUE(n, 1) OVER (ORDER BY n) => integer -7
CURRENT_DATE() > CAST('2020-01-01' AS DATE) => boolean true
LAST_VALUE(n IGNORE NULLS) OVER (ORDER BY n) => integer -7
FIRST_VALUE(nil IGNORE NULLS) OVER (ORDER BY n) => integer NULL
CAST(n AS BOOL) => boolean true
CAST('2024-02-29 10:11:12' AS DATETIME) => timestamp 2024-02-29 10:11:12
TIMESTAMP_ADD(a, INTERVAL 1 HOUR) => timestamp 2024-03-01 00:30:00
TIMESTAMP_SUB(b, INTERVAL n MINUTE) => timestamp 2024-03-01 00:22:00
TIMESTAMP_DIFF(b, a, HOUR) => integer 0
TIMESTAMP_DIFF(b, a, MINUTE) => integer 45
TIMESTAMP_TRUNC(b, MONTH) => timestamp 2024-03-01 00:00:00
TIMESTAMP_TRUNC(b, ISOWEEK) => timestamp 2024-02-26 00:00:00
TIMESTAMP_TRUNC(a, DAY, 'UTC') => timestamp 2024-02-29 00:00:00
DATETIME_ADD(CAST(a AS DATETIME), INTERVAL 1 DAY) => timestamp 2024-03-01 23:30:00
DATETIME_SUB(CAST(a AS DATETIME), INTERVAL 1 MONTH) => timestamp 2024-01-29 23:30:00
DATETIME_DIFF(CAST(b AS DATETIME), CAST(a AS DATETIME), DAY) => integer 1
DATETIME_TRUNC(CAST(b AS DATETIME), MONTH) => timestamp 2024-03-01 00:00:00
DATE_ADD(day, INTERVAL 1 MONTH) => date 2024-02-29
DATE_ADD(day, INTERVAL n DAY) => date 2024-01-24
DATE_SUB(later, INTERVAL 1 MONTH) => date 2024-01-14
DATE_SUB('2024-03-01', INTERVAL 1 DAY) => date 2024-02-29
DATE_DIFF(later, day, DAY) => integer 14
DATE_DIFF(later, day, MONTH) => integer 1
DATE_DIFF(later, day, YEAR) => integer 0
DATE_TRUNC(later, MONTH) => date 2024-02-01
DATE_TRUNC(later, ISOWEEK) => date 2024-02-12
DATE_TRUNC(later, WEEK(MONDAY)) => date 2024-02-12
DATE_TRUNC(later, QUARTER) => date 2024-01-01
EXTRACT(YEAR FROM a) => integer 2024
EXTRACT(QUARTER FROM a) => integer 1
EXTRACT(MONTH FROM later) => integer 2
EXTRACT(DAY FROM later) => integer 14
EXTRACT(DAYOFWEEK FROM later) => integer 4
EXTRACT(DAYOFYEAR FROM later) => integer 45
EXTRACT(ISOWEEK FROM later) => integer 7
EXTRACT(ISOYEAR FROM later) => integer 2024
EXTRACT(HOUR FROM a) => integer 23
EXTRACT(MINUTE FROM a) => integer 30
EXTRACT(SECOND FROM a) => integer 0
EXTRACT(DATE FROM a) => date 2024-02-29
EXTRACT(HOUR FROM a AT TIME ZONE 'America/New_York') => integer 18
LAST_DAY(later) => date 2024-02-29
LAST_DAY(later, MONTH) => date 2024-02-29
DATE(2024, 2, 29) => date 2024-02-29
DATE(a) => date 2024-02-29
DATE(a, 'Asia/Tokyo') => date 2024-03-01
DATETIME(a) => timestamp 2024-02-29 23:30:00
DATETIME(a, 'Asia/Tokyo') => timestamp 2024-03-01 08:30:00
DATETIME(a, 'America/New_York') => timestamp 2024-02-29 18:30:00
TIMESTAMP('2024-02-29 10:11:12') => timestamp 2024-02-29 10:11:12
TIMESTAMP('2024-02-29 10:11:12', 'UTC') => timestamp 2024-02-29 10:11:12
FORMAT_DATE('%Y%m%d', later) => text 20240214
FORMAT_TIMESTAMP('%Y-%m-%d %H:%M:%S', a) => text 2024-02-29 23:30:00
PARSE_DATE('%Y%m%d', '20240229') => date 2024-02-29
PARSE_TIMESTAMP('%Y-%m-%d %H:%M:%S', '2024-02-29 10:11:12') => timestamp 2024-02-29 10:11:12
UNIX_SECONDS(a) => integer 1709249400
UNIX_MILLIS(a) => integer 1709249400000
UNIX_MICROS(a) => integer 1709249400000000
UNIX_DATE(later) => integer 19767
TIMESTAMP_SECONDS(0) => timestamp 1970-01-01 00:00:00
TIMESTAMP_MILLIS(1000) => timestamp 1970-01-01 00:00:01
DATE_FROM_UNIX_DATE(19767) => date 2024-02-14
CAST('2024-02-29 10:11:12' AS TIMESTAMP) => timestamp 2024-02-29 10:11:12
CAST(a AS DATE) => date 2024-02-29
later > DATE '2024-01-01' => boolean true
total / 2 => double 3.5
n / 2 => double -3.5
1 / 3 => double 0.333333333333
1 / 3.0 => double 0.333333333333
price / 3 => decimal 2.333333333
DIV(total, 2) => integer 3
DIV(n, 2) => integer -3
MOD(n, 4) => integer -3
MOD(total, 4) => integer 3
SAFE_DIVIDE(total, 0) => double NULL
SAFE_DIVIDE(total, 2) => double 3.5
2000000000 * 3 => integer 6000000000
n * 1000000000 => integer -7000000000
CAST(ratio AS INT64) => integer 3
CAST(-2.5 AS INT64) => integer -3
CAST(ratio AS NUMERIC) => decimal 2.5
CAST('12' AS INT64) => integer 12
CAST(n AS FLOAT64) => double -7.0
CAST(n AS STRING) => text -7
CAST(later AS STRING) => text 2024-02-14
CAST(yes AS STRING) => text true
CAST(yes AS INT64) => integer 1
CAST('true' AS BOOL) => boolean true
ROUND(ratio) => double 3.0
ROUND(-2.5) => double -3.0
ROUND(price / 3, 2) => decimal 2.33
TRUNC(ratio) => double 2.0
TRUNC(-2.7) => double -2.0
CEIL(ratio) => double 3.0
CEIL(n) => double -7.0
SIGN(ratio) => double 1.0
POW(ratio, 2) => double 6.25
POWER(2, 3) => double 8.0
LN(ratio) => double 0.916290731874
LOG(ratio) => double 0.916290731874
LOG10(100) => double 2.0
s || t => text Hello Worldabc
s || nils => text NULL
CONCAT(s, t) => text Hello Worldabc
CONCAT(s, nils) => text NULL
LENGTH(s) => integer 11
CHAR_LENGTH(t) => integer 3
SUBSTR(s, 7) => text World
SUBSTR(s, -3) => text rld
SUBSTR(s, 2, 3) => text ell
SUBSTR(s, GREATEST(n, 1), 2) => text He
SUBSTR(s, GREATEST(nil, 1), 2) => text NULL
SUBSTR(s, STRPOS(s, 'W') + 1, 2) => text or
LEFT(s, 2) => text He
RIGHT(s, 2) => text ld
LPAD(t, 5, 'x') => text xxabc
RPAD(t, 5, 'x') => text abcxx
LPAD(t, 5) => text   abc
REPEAT(t, 2) => text abcabc
TRIM('  x ') => text x
TRIM('xxyx', 'x') => text y
STRPOS(s, 'l') => integer 3
INSTR(s, 'l') => integer 3
STARTS_WITH(s, 'He') => boolean true
ENDS_WITH(s, 'ld') => boolean true
REGEXP_CONTAINS(s, '^H.*d$') => boolean true
REGEXP_EXTRACT(s, 'W[a-z]+') => text World
REGEXP_EXTRACT(s, 'zz') => text NULL
REGEXP_EXTRACT(s, 'W([a-z]+)') => text orld
REGEXP_REPLACE(s, 'l+', 'L') => text HeLo WorLd
SPLIT(s, ' ') => array [Hello,World]
SPLIT('a.b', '.') => array [a,b]
SPLIT(s, ' ')[OFFSET(1)] => text World
ARRAY_TO_STRING(words, ',') => text x,y,z
ARRAY_LENGTH(words) => integer 3
ARRAY_LENGTH([1, 2]) => integer 2
ARRAY_CONCAT(words, ['q']) => array [x,y,z,q]
words[OFFSET(0)] => text x
words[ORDINAL(1)] => text x
words[SAFE_OFFSET(9)] => text NULL
words[SAFE_ORDINAL(1)] => text x
GREATEST(n, 3) => integer 3
GREATEST(n, nil, 3) => integer NULL
LEAST(n, 3) => integer -7
LEAST(n, nil) => integer NULL
IF(n < 0, 'a', 'b') => text a
IFNULL(nil, n) => integer -7
n IS DISTINCT FROM nil => boolean true
n IS NOT DISTINCT FROM nil => boolean false
6 & 3 => integer 2
6 | 3 => integer 7
6 ^ 3 => integer 5
~6 => integer -7
TO_HEX(MD5(t)) => text 900150983cd24fb0d6963f7d28e17f72
s || t LIKE 'x' || 'y' => boolean false
COUNTIF(n < 0) OVER () => integer 1
LTRIM('  x') => text x
RTRIM('x  ') => text x
REVERSE(t) => text cba
REVERSE('éa') => text aé
ASCII(t) => integer 97
TIMESTAMP_TRUNC(a, year) => timestamp 2024-01-01 00:00:00
TIMESTAMP_TRUNC(a, quarter) => timestamp 2024-01-01 00:00:00
TIMESTAMP_TRUNC(a, day) => timestamp 2024-02-29 00:00:00
TIMESTAMP_TRUNC(a, hour) => timestamp 2024-02-29 23:00:00
TIMESTAMP_TRUNC(a, minute) => timestamp 2024-02-29 23:30:00
TIMESTAMP_TRUNC(a, second) => timestamp 2024-02-29 23:30:00
DATETIME_TRUNC(CAST(a AS DATETIME), year) => timestamp 2024-01-01 00:00:00
DATETIME_TRUNC(CAST(a AS DATETIME), quarter) => timestamp 2024-01-01 00:00:00
DATETIME_TRUNC(CAST(a AS DATETIME), month) => timestamp 2024-02-01 00:00:00
DATETIME_TRUNC(CAST(a AS DATETIME), day) => timestamp 2024-02-29 00:00:00
DATETIME_TRUNC(CAST(a AS DATETIME), hour) => timestamp 2024-02-29 23:00:00
DATETIME_TRUNC(CAST(a AS DATETIME), minute) => timestamp 2024-02-29 23:30:00
DATETIME_TRUNC(CAST(a AS DATETIME), second) => timestamp 2024-02-29 23:30:00
DATE_TRUNC(later, year) => date 2024-01-01
DATE_TRUNC(later, quarter) => date 2024-01-01
DATE_TRUNC(later, month) => date 2024-02-01
DATE_TRUNC(later, day) => date 2024-02-14
DATETIME_DIFF(CAST(b AS DATETIME), CAST(a AS DATETIME), year) => integer 0
DATETIME_DIFF(CAST(b AS DATETIME), CAST(a AS DATETIME), quarter) => integer 0
DATETIME_DIFF(CAST(b AS DATETIME), CAST(a AS DATETIME), month) => integer 1
DATETIME_DIFF(CAST(b AS DATETIME), CAST(a AS DATETIME), day) => integer 1
DATETIME_DIFF(CAST(b AS DATETIME), CAST(a AS DATETIME), hour) => integer 1
DATETIME_DIFF(CAST(b AS DATETIME), CAST(a AS DATETIME), minute) => integer 45
DATETIME_DIFF(CAST(b AS DATETIME), CAST(a AS DATETIME), second) => integer 2700
DATE_DIFF(later, day, QUARTER) => integer 0
TIMESTAMP_DIFF(b, a, DAY) => integer 0
TIMESTAMP_DIFF(b, a, SECOND) => integer 2700
TIMESTAMP_DIFF(a, b, HOUR) => integer 0
LOG10(1000) => double 3
LOG(1000, 10) => double 3
LENGTH('é') => integer 1
LENGTH('') => integer 0
TRIM('\n x\t') => text x
LTRIM('\n x') => text x
RTRIM('x\t ') => text x
TRIM(' x ', ' ') => text x
SPLIT('', ',') => array []
SPLIT('a,,b', ',') => array [a,,b]
SUBSTR(t, -9) => text abc
SUBSTR(t, 9) => text ''
REPLACE(t, '', 'x') => text abc
FLOOR(-ratio) => double -3
CEIL(-ratio) => double -2
TRUNC(-ratio) => double -2
~0 => integer -1
n & -1 => integer -7
-7 ^ 3 => integer -6
CAST('2024-02-29' AS DATE) = later => boolean false
CAST(CONCAT('2024', '-02-29') AS DATE) => date 2024-02-29
CAST(CONCAT('2024-02-29', ' 10:11:12.5') AS TIMESTAMP) => timestamp 2024-02-29 10:11:12.5
EXTRACT(SECOND FROM CAST('2024-02-29 10:11:12.9' AS TIMESTAMP)) => integer 12
UNIX_SECONDS(CAST('1969-12-31 23:59:59.5' AS TIMESTAMP)) => integer -1
DATE_DIFF(day, later, DAY) => integer -14
DATE_ADD(CAST('2024-01-31' AS DATE), INTERVAL -2 MONTH) => date 2023-11-30
ARRAY_LENGTH([1, nil]) => integer 2
REGEXP_CONTAINS('c\n', 'c$') => boolean false
REGEXP_CONTAINS('a\r', 'a.') => boolean true
"""

ROWS = """
AVG(k) => double 2.0
COUNTIF(k > 1) => integer 2
LOGICAL_AND(f) => boolean false
LOGICAL_OR(f) => boolean true
STDDEV(x) => double 3.5
STDDEV_POP(x) => double 2.85773803325
STDDEV_SAMP(x) => double 3.5
VARIANCE(x) => double 12.25
VAR_POP(x) => double 8.16666666667
MAX_BY(v, k) => text NULL
MIN_BY(v, k) => text a
BIT_AND(k) => integer 0
STRING_AGG(v, ',' ORDER BY v) => text a,b,d
STRING_AGG(CASE WHEN k > 9 THEN v END, ',') => text NULL
LOGICAL_AND(CASE WHEN k > 9 THEN f END) => boolean NULL
BIT_AND(CASE WHEN k > 9 THEN k END) => integer NULL
"""

REFUSED = r"""
CAST(n AS BIGNUMERIC)
IEEE_DIVIDE(total, 2)
BYTE_LENGTH(t)
CONTAINS_SUBSTR(s, 'lo')
REGEXP_CONTAINS(s, r'W\w+')
ARRAY_REVERSE(words)
GENERATE_UUID()
FARM_FINGERPRINT(s)
DATETIME(a, '+09:00')
TIMESTAMP('2024-02-29 10:11:12', 'Asia/Tokyo')
FORMAT_TIMESTAMP('%Y', a, 'Asia/Tokyo')
TIMESTAMP_TRUNC(a, DAY, 'Asia/Tokyo')
EXTRACT(WEEK FROM later)
DATE_TRUNC(later, WEEK)
CAST(a AS STRING)
CAST(ratio AS STRING)
CAST(s AS STRING(3))
SUBSTR(s, -3, 2)
6 & 3 + 1
FORMAT_DATE('%B', later)
CURRENT_DATE('Asia/Tokyo')
SAFE.SUBSTR(s, 1)
JSON_VALUE('{}', '$.a')
ST_GEOGPOINT(1, 2)
APPROX_QUANTILES(n, 2)
NET.HOST(s)
SUBSTRING(s, 0, 3)
ARRAY_AGG(v IGNORE NULLS)
ARRAY_AGG(k)
APPROX_COUNT_DISTINCT(k)
SAFE_CAST('0x1F' AS INT64)
SAFE_CAST('2024' AS DATE)
SAFE_CAST('yes' AS BOOL)
LOG(8, 2)
1 << 40
n << 31
-7 >> 1
SPLIT(s, '')
SPLIT(s, t)
CORR(ratio, ratio)
LPAD(t, n, 'x')
LPAD(t, 5, '')
s LIKE t
STRPOS(s, t)
ROUND(ratio, 2)
ROUND(price, n)
STDDEV(price)
SIGN(n)
CAST('2024' AS DATE)
CAST('0x1F' AS INT64)
yes = 1
s = 1
n + '1'
DATE_ADD(day, INTERVAL ratio DAY)
DATE_TRUNC(later, ISOYEAR)
DATE(s)
TIMESTAMP(s)
STRING_AGG(n, ',')
SUM(yes)
ARRAY_TO_STRING([1, 2], ',')
"""
