"""What MySQL means by functions and operators, as its manual says."""

from __future__ import annotations

VALUES = """
CURRENT_DATE > CAST('2020-01-01' AS DATE) => boolean true
CURRENT_TIMESTAMP > CAST('2020-01-01 00:00:00' AS DATETIME) => boolean true
NTH_VALUE(n, 1) OVER (ORDER BY n) => integer -7
NOW() > CAST('2020-01-01 00:00:00' AS DATETIME) => boolean true
CURDATE() > CAST('2020-01-01' AS DATE) => boolean true
CAST(n AS DOUBLE) => double -7.0
DATE_ADD(a, INTERVAL 1 HOUR) => timestamp 2024-03-01 00:30:00
DATE_SUB(a, INTERVAL n DAY) => timestamp 2024-03-07 23:30:00
DATE_SUB(b, INTERVAL 1 DAY) => timestamp 2024-02-29 00:15:00
DATE_ADD(day, INTERVAL 1 MONTH) => date 2024-02-29
a + INTERVAL n DAY => timestamp 2024-02-22 23:30:00
DATEDIFF(b, a) => integer 1
TIMESTAMPDIFF(HOUR, a, b) => integer 0
TIMESTAMPDIFF(MINUTE, a, b) => integer 45
YEAR(a) => integer 2024
MONTH(a) => integer 2
DAY(a) => integer 29
DAYOFMONTH(a) => integer 29
DAYOFWEEK(later) => integer 4
DAYOFYEAR(later) => integer 45
HOUR(a) => integer 23
MINUTE(a) => integer 30
SECOND(a) => integer 0
QUARTER(a) => integer 1
EXTRACT(YEAR FROM a) => integer 2024
LAST_DAY(later) => date 2024-02-29
DATE(a) => date 2024-02-29
DATE_FORMAT(a, '%Y-%m-%d') => text 2024-02-29
DATE_FORMAT(a, '%Y-%m-%d %H:%i:%s') => text 2024-02-29 23:30:00
STR_TO_DATE('2024-02-29', '%Y-%m-%d') => date 2024-02-29
CAST(a AS DATE) => date 2024-02-29
CAST('2024-02-29 10:11:12' AS DATETIME) => timestamp 2024-02-29 10:11:12
total / 2 => decimal 3.5
1 / 3 => decimal 0.3333
total / z => decimal NULL
ratio / 2 => double 1.25
price / 3 => decimal 2.333333
7 DIV 2 => integer 3
n DIV 2 => integer -3
n % 4 => integer -3
MOD(n, 4) => integer -3
n MOD 4 => integer -3
n % z => integer NULL
n DIV z => integer NULL
2000000000 * 3 => integer 6000000000
CAST(price AS SIGNED) => integer 7
CAST(2.5 AS SIGNED) => integer 3
CAST('12' AS SIGNED) => integer 12
CAST(n AS CHAR) => text -7
CAST(s AS CHAR(3)) => text Hel
ROUND(2.345, 2) => decimal 2.35
ROUND(-2.5) => decimal -3
CEIL(ratio) => double 3.0
CAST(FLOOR(ratio) AS SIGNED) => integer 2
CAST(-CEIL(ratio) AS SIGNED) => integer -3
POW(2, 3) => double 8.0
LN(ratio) => double 0.916290731874
LOG(ratio) => double 0.916290731874
LOG10(100) => double 2.0
CONCAT(s, t) => text Hello Worldabc
CONCAT(s, nils) => text NULL
CONCAT(t, n) => text abc-7
CONCAT_WS('-', s, nils, t) => text Hello World-abc
CHAR_LENGTH(s) => integer 11
LENGTH(s) => integer 11
SUBSTRING(s, 7) => text World
SUBSTR(s, 2, 3) => text ell
SUBSTR(s, GREATEST(n, 1), 2) => text He
SUBSTR(s, GREATEST(nil, 1), 2) => text NULL
SUBSTR(s, GREATEST(n, 7)) => text World
SUBSTR(s, LOCATE('W', s) + 1, 2) => text or
LEFT(s, 2) => text He
RIGHT(s, 2) => text ld
LPAD(t, 5, 'x') => text xxabc
RPAD(t, 5, 'x') => text abcxx
REPEAT(t, 2) => text abcabc
TRIM('  x ') => text x
LOCATE('l', s) => integer 3
INSTR(s, 'l') => integer 3
SUBSTRING_INDEX('a.b.c', '.', 2) => text a.b
IF(n < 0, 'a', 'b') => text a
IFNULL(nil, n) => integer -7
GREATEST(n, nil, 3) => integer NULL
GREATEST(n, 3) => integer 3
LEAST(n, 3) => integer -7
n <=> nil => boolean false
nil <=> nil => boolean true
yes AND n < 0 => boolean true
6 & 3 => integer 2
MD5(t) => text 900150983cd24fb0d6963f7d28e17f72
LTRIM('  x') => text x
RTRIM('x  ') => text x
REVERSE(t) => text cba
REVERSE('éa') => text aé
TIMESTAMPDIFF(SECOND, a, b) => integer 2700
TIMESTAMPDIFF(DAY, a, b) => integer 0
TIMESTAMPDIFF(MONTH, day, a) => integer 0
TIMESTAMPDIFF(WEEK, day, later) => integer 2
TIMESTAMPDIFF(YEAR, day, later) => integer 0
TIMESTAMPDIFF(QUARTER, day, later) => integer 0
LOG10(1000) => double 3
LOG(10, 1000) => double 3
LENGTH('é') => integer 2
CHAR_LENGTH('é') => integer 1
SQRT(-1) => double NULL
SQRT(0) => double 0
LN(-1) => double NULL
LN(0) => double NULL
ratio / 0 => double NULL
yes = 1 => boolean true
n & 3 => integer 1
RIGHT(t, 0) => text ''
REPEAT(t, -1) => text ''
SUBSTRING(t, 9) => text ''
LOCATE('', t) => integer 1
SUBSTRING_INDEX('a.b.c', '.', -1) => text c
SUBSTRING_INDEX('abc', '.', 1) => text abc
LPAD(t, 0, 'x') => text ''
-7 DIV 2 => integer -3
price DIV 2 => integer 3
-7 % 3 => integer -1
CEIL(-ratio) => double -2
FLOOR(-ratio) => double -3
GREATEST(1, NULL) => integer NULL
DATEDIFF(day, later) => integer -14
MONTH(CAST('2024-12-31' AS DATE)) => integer 12
CAST(CONCAT('2024', '-02-29') AS DATE) => date 2024-02-29
"""

ROWS = """
AVG(k) => decimal 2
STDDEV_POP(x) => double 2.85773803325
STDDEV_SAMP(x) => double 3.5
VAR_POP(x) => double 8.16666666667
STDDEV(x) => double 2.85773803325
VARIANCE(x) => double 8.16666666667
VAR_SAMP(x) => double 12.25
"""

REFUSED = """
CAST(n AS UNSIGNED)
WEEK(later)
WEEKDAY(later)
EXTRACT(WEEK FROM a)
EXTRACT(YEAR_MONTH FROM a)
DATE_FORMAT(a, '%M')
CONVERT_TZ(a, 'UTC', 'Asia/Tokyo')
UNIX_TIMESTAMP(a)
FROM_UNIXTIME(0)
CAST(ratio AS SIGNED)
ROUND(ratio)
TRUNCATE(2.7, 0)
SUBSTRING(s, 0, 3)
SUBSTRING(s, -3)
s REGEXP '^H'
6 & 3 + 1
FIND_IN_SET('b', 'a,b')
FIELD('a', 'b', 'a')
JSON_EXTRACT('{}', '$.a')
s || t
GROUP_CONCAT(v ORDER BY v)
GROUP_CONCAT(v ORDER BY v SEPARATOR ',')
BIT_AND(k)
ASCII('é')
day + 1
day - day
a - b
n ^ -1
n & -1
6 | 3
6 ^ 3
1 << 40
16 >> 2
LOG2(8)
LPAD(t, -1, 'x')
LPAD(t, 5, '')
s LIKE t
s = 1
SUM(yes)
DATE_ADD(day, INTERVAL 1.5 DAY)
CAST('2024' AS DATE)
DATE(s)
"""
