"""What T-SQL means by functions and operators, as its manual says."""

from __future__ import annotations

VALUES = """
AVG(n) OVER (PARTITION BY s) => integer -7
CASE WHEN GETDATE() > CAST('2020-01-01 00:00:00' AS datetime2) THEN 1 ELSE 0 END => integer 1
CASE WHEN CURRENT_TIMESTAMP > CAST('2020-01-01 00:00:00' AS datetime) THEN 1 ELSE 0 END => integer 1
CAST(n AS smallint) => integer -7
CAST(n AS real) => double -7.0
CAST(n AS bit) => boolean true
CAST(n AS numeric(10, 2)) => decimal -7.00
DATEADD(day, 1, a) => timestamp 2024-03-01 23:30:00
DATEADD(day, 1, CAST(a AS DATETIME2)) => timestamp 2024-03-01 23:30:00
DATEADD(hh, -1, b) => timestamp 2024-02-29 23:15:00
DATEADD(month, 1, day) => date 2024-02-29
DATEADD(w, 1, day) => date 2024-02-01
DATEADD(quarter, 1, a) => timestamp 2024-05-29 23:30:00
DATEDIFF(day, a, b) => integer 1
DATEDIFF(hour, a, b) => integer 1
DATEDIFF(month, a, b) => integer 1
DATEDIFF(minute, a, b) => integer 45
YEAR(a) => integer 2024
MONTH(a) => integer 2
DAY(a) => integer 29
DATEPART(year, a) => integer 2024
DATEPART(month, a) => integer 2
EOMONTH(later) => date 2024-02-29
DATEFROMPARTS(2024, 2, 29) => date 2024-02-29
DATETRUNC(month, a) => timestamp 2024-02-01 00:00:00
CAST(a AS date) => date 2024-02-29
CAST('2024-02-29 10:11:12' AS datetime2) => timestamp 2024-02-29 10:11:12
FORMAT(a, 'yyyy-MM-dd') => text 2024-02-29
total / 2 => integer 3
n / 2 => integer -3
ratio / 2 => double 1.25
CAST(n AS float) / 2 => double -3.5
n % 4 => integer -3
CAST(ratio AS int) => integer 2
CAST(-2.7 AS int) => integer -2
CAST(2.345 AS decimal(10, 2)) => decimal 2.35
CAST(ratio AS decimal) => decimal 3
CAST('12' AS int) => integer 12
CAST(s AS varchar(3)) => text Hel
CAST(yes AS int) => integer 1
CEILING(ratio) => double 3.0
CEILING(price) => decimal 7
ROUND(price, 1) => decimal 7.0
ROUND(ratio, 0) => double 3.0
POWER(ratio, 2) => double 6.25
LOG(ratio) => double 0.916290731874
LOG10(ratio * 40) => double 2.0
s + t => text Hello Worldabc
s + nils => text NULL
CONCAT(s, nils, t) => text Hello Worldabc
CONCAT(t, n) => text abc-7
CONCAT_WS('-', s, nils, t) => text Hello World-abc
LEN(s) => integer 11
LEN('ab  ') => integer 2
SUBSTRING(s, 0, 3) => text He
SUBSTRING(s, -1, 4) => text He
LEFT(s, 2) => text He
RIGHT(s, 2) => text ld
REPLICATE(t, 2) => text abcabc
TRIM('  x ') => text x
CHARINDEX('l', s) => integer 3
ISNULL(nil, n) => integer -7
IIF(n < 0, 'a', 'b') => text a
GREATEST(n, nil, 3) => integer 3
LEAST(n, nil, 3) => integer -7
6 & 3 => integer 2
6 | 3 => integer 7
6 ^ 3 => integer 5
LTRIM('  x') => text x
RTRIM('x  ') => text x
REVERSE(t) => text cba
REVERSE('éa') => text aé
CAST(n AS nvarchar(11)) => text -7
CAST(n AS varchar(11)) => text -7
CAST(n AS varchar) => text -7
CAST(REPLICATE('a', 40) AS varchar) => text aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
CAST(REPLICATE('a', 40) AS varchar(max)) => text aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
DATEDIFF(year, a, b) => integer 0
DATEDIFF(quarter, a, b) => integer 0
DATEDIFF(second, a, b) => integer 2700
DATEDIFF(yy, a, b) => integer 0
DATEDIFF(qq, a, b) => integer 0
DATEDIFF(mm, a, b) => integer 1
DATEDIFF(dd, a, b) => integer 1
DATEDIFF(hh, a, b) => integer 1
DATEDIFF(mi, a, b) => integer 45
DATEDIFF(ss, a, b) => integer 2700
DATEDIFF_BIG(second, '1900-01-01', a) => integer 3918238200
DATEDIFF_BIG(second, day, a) => integer 2590200
DATETRUNC(year, a) => timestamp 2024-01-01 00:00:00
DATETRUNC(quarter, a) => timestamp 2024-01-01 00:00:00
DATETRUNC(day, a) => timestamp 2024-02-29 00:00:00
DATETRUNC(hour, a) => timestamp 2024-02-29 23:00:00
DATETRUNC(minute, a) => timestamp 2024-02-29 23:30:00
DATETRUNC(second, a) => timestamp 2024-02-29 23:30:00
DATETRUNC(year, later) => date 2024-01-01
DATETRUNC(quarter, later) => date 2024-01-01
DATETRUNC(month, later) => date 2024-02-01
DATETRUNC(day, later) => date 2024-02-14
LOG10(ratio * 400) => double 3
LEN('é') => integer 1
LEN('') => integer 0
CASE WHEN yes = 1 THEN 1 ELSE 0 END => integer 1
n & -1 => integer -7
n | 3 => integer -5
n ^ 3 => integer -6
-7 / 2 => integer -3
FLOOR(-ratio) => double -3
LEFT(t, 0) => text ''
REPLACE(s, '', 'x') => text Hello World
CONCAT_WS('-', nils, nils) => text ''
REPLICATE(t, 0) => text ''
CAST(CONCAT('2024', '-02-29') AS date) => date 2024-02-29
"""

ROWS = """
AVG(k) => integer 2
STDEV(x) => double 3.5
STRING_AGG(v, ',') WITHIN GROUP (ORDER BY v) => text a,b,d
COUNT_BIG(*) => integer 4
STRING_AGG(CASE WHEN k > 9 THEN v END, ',') => text NULL
"""

REFUSED = """
DATEDIFF(week, a, b)
DATEPART(quarter, a)
DATEPART(weekday, a)
DATEPART(week, a)
CONVERT(date, a)
CONVERT(varchar(10), a, 23)
FORMAT(a, 'MMMM')
a AT TIME ZONE 'UTC'
POWER(2, 3)
STUFF(s, 1, 2, 'x')
CASE WHEN s LIKE '[a-z]%' THEN 1 ELSE 0 END
6 & 3 + 1
STRING_SPLIT(s, ' ')
DATENAME(month, a)
GETUTCDATE()
s + n
CHOOSE(1, 'a', 'b')
STDEVP(x)
VAR(x)
ASCII('é')
CHARINDEX('', s)
CHARINDEX(t, s)
REPLICATE(s, -1)
REPLICATE(s, n)
DATETRUNC(week, a)
CAST(n AS varchar(3))
TRY_CAST('2024' AS DATE)
CASE WHEN s LIKE t THEN 1 ELSE 0 END
day - later
a + 1
CONCAT_WS(t, s, s)
LOG(8, 2)
ROUND(ratio, 1)
CAST('2024' AS DATE)
CAST('1.5' AS int)
CAST('20240229' AS date)
"""
