"""What means the same in all dialects, over one row and over four."""

from __future__ import annotations

VALUES = """
n + 1 => integer -6
n - 1 => integer -8
n - (total - 1) => integer -13
n * total - 1 => integer -50
-n => integer 7
ABS(n) => integer 7
ABS(price) => decimal 7.00
price * 2 => decimal 14.00
price + n => decimal 0.00
ratio * 2 => double 5.0
n + ratio => double -4.5
COALESCE(nil, n) => integer -7
NULLIF(n, -7) => integer NULL
CASE WHEN n < 0 THEN 'neg' ELSE 'pos' END => text neg
CASE WHEN n > 0 THEN 1 END => integer NULL
CASE n WHEN 3 THEN 1 END => integer NULL
CASE n WHEN -7 THEN 1 ELSE 2 END => integer 1
CASE WHEN n IN (1, -7) THEN 1 ELSE 0 END => integer 1
CASE WHEN n NOT IN (1, 2) THEN 1 ELSE 0 END => integer 1
CASE WHEN n BETWEEN -10 AND 0 THEN 1 ELSE 0 END => integer 1
CASE WHEN nil IS NULL THEN 1 ELSE 0 END => integer 1
CASE WHEN nil IS NOT NULL THEN 1 ELSE 0 END => integer 0
CASE WHEN n <> 1 AND NOT (n > 0) THEN 1 ELSE 0 END => integer 1
CASE WHEN n >= -7 OR n <= -8 THEN 1 ELSE 0 END => integer 1
CASE WHEN n = -7 THEN 1 ELSE 0 END => integer 1
CASE WHEN s LIKE 'H_llo%' THEN 1 ELSE 0 END => integer 1
CASE WHEN s NOT LIKE '%z%' THEN 1 ELSE 0 END => integer 1
CASE WHEN t < 'abd' THEN 1 ELSE 0 END => integer 1
UPPER(t) => text ABC
LOWER(s) => text hello world
REPLACE(s, 'l', 'L') => text HeLLo WorLd
SUBSTRING(s, 1, 5) => text Hello
FLOOR(ratio) => double 2.0
FLOOR(price) => decimal 7
SQRT(ratio * 10) => double 5.0
EXP(ratio - 2.5) => double 1.0
ROW_NUMBER() OVER (ORDER BY n) => integer 1
RANK() OVER (ORDER BY n) => integer 1
DENSE_RANK() OVER (ORDER BY n) => integer 1
NTILE(2) OVER (ORDER BY n) => integer 1
LAG(n) OVER (ORDER BY n) => integer NULL
LAG(n, 1, 0) OVER (ORDER BY n) => integer 0
LEAD(n, 1, 0) OVER (ORDER BY n) => integer 0
FIRST_VALUE(n) OVER (PARTITION BY s ORDER BY n) => integer -7
LAST_VALUE(n) OVER (ORDER BY n) => integer -7
SUM(n) OVER (PARTITION BY s) => integer -7
PERCENT_RANK() OVER (ORDER BY n) => double 0.0
CUME_DIST() OVER (ORDER BY n) => double 1.0
SUM(n) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) => integer -7
CAST('2024-02-29' AS DATE) => date 2024-02-29
CAST(n AS BIGINT) => integer -7
CAST(n AS DECIMAL(10, 2)) => decimal -7.00
"""

ROWS = """
COUNT(*) => integer 4
COUNT(k) => integer 3
COUNT(DISTINCT k) => integer 3
SUM(k) => integer 6
SUM(x) => double 0.0
SUM(m) => decimal 10.75
AVG(x) => double 0.0
MIN(k) => integer 1
MAX(v) => text d
MAX(x) => double 2.5
SUM(DISTINCT k) => integer 6
SUM(CASE WHEN k > 1 THEN 1 ELSE 0 END) => integer 2
"""
