# ruff: noqa: E501 - rows of tables stay on one line
"""The advice when another dialect's query is refused: a model that follows it loads."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest
import sqlglot
from _pytest.mark import ParameterSet
from sqlglot import exp

from tests.lakehouse.dialects import (
    bigquery,
    duckdb,
    mysql,
    postgres,
    presto,
    redshift,
    snowflake,
    trino,
    tsql,
)
from tests.lakehouse.dialects.rows import FOUR_TYPES, ONE_TYPES
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Finding
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import QueryInvalid, canonicalize

MODULES: dict[str, ModuleType] = {
    "bigquery": bigquery,
    "duckdb": duckdb,
    "mysql": mysql,
    "postgres": postgres,
    "presto": presto,
    "redshift": redshift,
    "snowflake": snowflake,
    "trino": trino,
    "tsql": tsql,
}
COLUMNS = {**ONE_TYPES, **FOUR_TYPES}
SCHEMAS = {ModelName("s", "t"): [Column(name=name, type=kind) for name, kind in COLUMNS.items()]}
USUAL = {"double": "DOUBLE", "whole": "BIGINT", "text": "VARCHAR", "time": "TIMESTAMP"}
LONG = "DOUBLE PRECISION"
NAMES = {
    "bigquery": {**USUAL, "double": "FLOAT64", "whole": "INT64", "text": "STRING"},
    "duckdb": USUAL,
    "mysql": {**USUAL, "whole": "SIGNED", "text": "CHAR", "time": "DATETIME"},
    "postgres": {**USUAL, "double": LONG},
    "presto": USUAL,
    "redshift": {**USUAL, "double": LONG},
    "snowflake": USUAL,
    "trino": USUAL,
    "tsql": {**USUAL, "double": "FLOAT", "text": "VARCHAR(40)", "time": "DATETIME2"},
}
"""What types are called in each dialect; ``{double}`` in a row stands for that of its dialect."""
ALL = " ".join(NAMES)
TRUNC = "bigquery duckdb postgres presto redshift snowflake trino"
PIPES = "bigquery duckdb postgres presto redshift snowflake trino"
SPARKS = "write the model in Spark's dialect"
OTHER = f"Write it in another way, or {SPARKS}."
FUNCTION = (
    f"Write it in another way, {SPARKS}, or make a function of your own for it with CREATE "
    "TEMPORARY FUNCTION in a pre-statement."
)

# An advice, the dialects that give it, what is refused with it, and what it says to write instead.
# F is a function that the model creates: its result has no known type.
Row = tuple[str, str, str, tuple[str, ...]]
ROWS: list[Row] = [
    (FUNCTION, ALL, "XXHASH64(s)", ("F(s)",)),
    (OTHER, ALL, "CAST(n AS JSON)", ("n",)),
    ("Write parentheses around the part that comes first.", ALL, "6 & 3 + 1", ("6 & (3 + 1)", "(6 & 3) + 1")),
    ("Write parentheses around the part that comes first.", "bigquery snowflake", "t || n + 1", ("t || (n + 1)",)),
    # types that are not known
    ("Cast each part of it whose type is not known to its own, as in CAST(f(x) AS {whole}).", ALL, "CAST(F(n) + 1 AS {whole})", ("CAST(CAST(F(n) AS {whole}) + 1 AS {whole})",)),
    ("Cast the number in it to its type.", ALL, "CEIL(F(n))", ("CEIL(CAST(F(n) AS {double}))", "CEIL(CAST(F(n) AS DECIMAL(18, 6)))")),
    ("Cast the number in it to DECIMAL(18, 6).", ALL, "ROUND(F(n), 1)", ("ROUND(CAST(F(n) AS DECIMAL(18, 6)), 1)",)),
    ("Cast what is in it to its own type.", TRUNC, "TRUNC(F(n))", ("TRUNC(CAST(F(n) AS {double}))", "TRUNC(CAST(F(n) AS DECIMAL(18, 6)))")),
    ("Cast what is in it to its own type.", "mysql postgres redshift snowflake trino tsql", "AVG(F(n)) OVER ()", ("AVG(CAST(F(n) AS {double})) OVER ()", "AVG(CAST(F(n) AS DECIMAL(18, 6))) OVER ()")),
    ("Cast the numbers in it to {double}.", ALL, "LN(F(n))", ("LN(CAST(F(n) AS {double}))",)),
    ("Cast the numbers in it to {double}.", "bigquery duckdb postgres redshift", "SQRT(price)", ("SQRT(CAST(price AS {double}))",)),
    ("Cast the numbers in it to {double}.", "tsql", "POWER(2, 3)", ("POWER(CAST(2 AS {double}), CAST(3 AS {double}))", "POWER(CAST(2 AS {double}), 3)")),
    ("Cast its sides to DECIMAL(18, 6), {double} or {whole}.", "bigquery mysql snowflake", "F(n) / F(z)", ("CAST(F(n) AS DECIMAL(18, 6)) / CAST(F(z) AS {double})", "CAST(F(n) AS {whole}) / CAST(F(z) AS {whole})")),
    (
        "Write CAST(... AS {double}) around one side for a fraction, or CAST(... AS {whole}) around both for a whole number.",
        "postgres presto redshift trino tsql",
        "F(n) / F(z)",
        ("CAST(F(n) AS {double}) / F(z)", "F(n) / CAST(F(z) AS {double})", "CAST(F(n) AS {whole}) / CAST(F(z) AS {whole})"),
    ),
    # whole numbers
    ("Write FLOOR or CEIL around the number in it, or cast it to DECIMAL.", "mysql", "CAST(ratio AS SIGNED)", ("CAST(FLOOR(ratio) AS SIGNED)", "CAST(-CEIL(ratio) AS SIGNED)", "CAST(CAST(ratio AS DECIMAL) AS SIGNED)", "CAST(CAST(ratio AS DECIMAL(18, 6)) AS SIGNED)")),
    (f"Write FLOOR or CEIL around the number in it, or {SPARKS}.", "redshift", "CAST(ratio AS INT)", ("CAST(FLOOR(ratio) AS INT)", "CAST((CEIL(ratio)) AS INT)", "CAST(TRUNC(ratio) AS INT)")),
    (f"Write FLOOR or CEIL around the number in it, or {SPARKS}.", "redshift", "CAST(price AS INT)", ("CAST(FLOOR(price) AS INT)", "CAST(CEIL(price) AS INT)")),
    ("Cast the number in it to DECIMAL(18, 6).", "mysql redshift", "ROUND(ratio)", ("ROUND(CAST(ratio AS DECIMAL(18, 6)))",)),
    ("Leave ROUND out, or cast the number to DECIMAL(18, 6).", "bigquery duckdb postgres redshift", "ROUND(n)", ("n", "ROUND(CAST(n AS DECIMAL(18, 6)))")),
    ("Leave TRUNC out: the number is whole.", TRUNC, "TRUNC(n)", ("n",)),
    ("Cast what is in it to INTEGER for a whole number, or to DECIMAL(38, 6).", "redshift", "AVG(total) OVER ()", ("AVG(CAST(total AS INTEGER)) OVER ()", "AVG(CAST(total AS DECIMAL(38, 6))) OVER ()")),
    # texts of values
    (f"Write CAST(CAST(... AS DECIMAL(18, 6)) AS {{text}}), or {SPARKS}.", "duckdb mysql postgres presto redshift snowflake trino tsql", "CAST(ratio AS {text})", ("CAST(CAST(ratio AS DECIMAL(18, 6)) AS {text})",)),
    (f"Write CAST(CAST(... AS DECIMAL(18, 6)) AS {{text}}), or {SPARKS}.", "duckdb mysql postgres presto redshift snowflake trino tsql", "CONCAT(s, ratio)", ("CONCAT(s, CAST(CAST(ratio AS DECIMAL(18, 6)) AS {text}))",)),
    (f"Write CAST(CAST(... AS INT64) AS STRING), or {SPARKS}.", "bigquery", "CONCAT(s, ratio)", ("CONCAT(s, CAST(CAST(ratio AS INT64) AS STRING))",)),
    (f"Write CAST(CAST(... AS INT64) AS STRING), or {SPARKS}.", "bigquery", "CAST(price AS STRING)", ("CAST(CAST(price AS INT64) AS STRING)",)),
    ("Write CAST(... AS {text}) around it.", "duckdb mysql postgres presto redshift snowflake trino tsql", "CONCAT(s, price)", ("CONCAT(s, CAST(price AS {text}))",)),
    ("Write CAST(... AS {text}) around it.", PIPES.replace("redshift ", ""), "s || yes", ("s || CAST(yes AS {text})",)),
    ("Cast each part of it whose type is not known to its own, as in CAST(f(x) AS {whole}).", ALL, "CONCAT(s, F(n))", ("CONCAT(s, CAST(F(n) AS {whole}))", "CONCAT(s, CAST(F(n) AS {text}))")),
    ("Cast each part of it whose type is not known to its own, as in CAST(f(x) AS {whole}).", ALL, "CAST(F(n) + 1 AS {text})", ("CAST(CAST(F(n) AS {whole}) + 1 AS {text})",)),
    (f"Join its elements to a text, or {SPARKS}.", "bigquery duckdb postgres", "CONCAT(s, words)", ("CONCAT(s, ARRAY_TO_STRING(words, ','))",)),
    (f"Join its elements to a text, or {SPARKS}.", "presto trino", "CONCAT(s, words)", ("CONCAT(s, ARRAY_JOIN(words, ','))",)),
    ("Write the model in Spark's dialect.", "mysql redshift snowflake tsql", "CONCAT(s, words)", ()),
    ("Write the model in Spark's dialect.", "mysql redshift tsql", "CONCAT(s, yes)", ()),
    (f"Write it with FORMAT_TIMESTAMP('%Y-%m-%d %H:%M:%S', ...), or {SPARKS}.", "bigquery", "CONCAT(s, a)", ("CONCAT(s, FORMAT_TIMESTAMP('%Y-%m-%d %H:%M:%S', a))",)),
    (f"Write it with STRFTIME(..., '%Y-%m-%d %H:%M:%S'), or {SPARKS}.", "duckdb", "CAST(a AS VARCHAR)", ("STRFTIME(a, '%Y-%m-%d %H:%M:%S')",)),
    (f"Write it with DATE_FORMAT(..., '%Y-%m-%d %H:%i:%s'), or {SPARKS}.", "mysql presto trino", "CONCAT(s, a)", ("CONCAT(s, DATE_FORMAT(a, '%Y-%m-%d %H:%i:%s'))",)),
    (f"Write it with TO_CHAR(..., 'YYYY-MM-DD HH24:MI:SS'), or {SPARKS}.", "postgres redshift snowflake", "CAST(a AS VARCHAR)", ("TO_CHAR(a, 'YYYY-MM-DD HH24:MI:SS')",)),
    (f"Write it with FORMAT(..., 'yyyy-MM-dd HH:mm:ss'), or {SPARKS}.", "tsql", "CONCAT(s, a)", ("CONCAT(s, FORMAT(a, 'yyyy-MM-dd HH:mm:ss'))",)),
    ("Cast without a length, and use SUBSTR where it should be cut.", "bigquery redshift snowflake", "CAST(s AS {text}(3))", ("CAST(s AS {text})", "SUBSTR(CAST(s AS {text}), 1, 3)")),
    # parts of texts
    ("Write GREATEST(position, 1), or RIGHT to take the end of a text.", "bigquery duckdb mysql snowflake", "SUBSTR(s, n, 2)", ("SUBSTR(s, GREATEST(n, 1), 2)", "SUBSTR(s, GREATEST(n + 1, 1), 2)", "RIGHT(s, 2)")),
    ("Write GREATEST(position, 1), or RIGHT to take the end of a text.", "duckdb mysql snowflake", "SUBSTR(s, n)", ("SUBSTR(s, GREATEST(n, 1))", "SUBSTR(s, GREATEST(1, n) + 2)")),
    ("Write GREATEST(position, 1).", "presto trino", "SUBSTR(s, n, 2)", ("SUBSTR(s, GREATEST(n, 1), 2)", "SUBSTR(s, GREATEST(1, n + 2))")),
    ("Use SUBSTRING.", "bigquery mysql redshift snowflake tsql", "LEFT(s, -2)", ("SUBSTRING(s, 1, LENGTH(s) - 2)",)),
    ("Use SUBSTRING.", "bigquery mysql redshift snowflake tsql", "RIGHT(s, -2)", ("SUBSTRING(s, 3, LENGTH(s))",)),
    ("Use CONCAT for texts, and CAST for numbers.", "tsql", "s + n", ("CONCAT(s, n)", "CAST(s AS INT) + n", "s + CAST(n AS VARCHAR(40))")),
    ("Use CONCAT to join texts, and `<> 0` for numbers.", "mysql", "s || t", ("CONCAT(s, t)",)),
    ("Use CONCAT to join texts, and `<> 0` for numbers.", "mysql", "n OR z", ("n <> 0 OR z <> 0",)),
    ("Write conditions on both sides, such as `x <> 0`.", "mysql", "n AND yes", ("n <> 0 AND yes",)),
    # patterns
    (r"Leave \ out of the pattern, or name a letter with ESCAPE.", "duckdb postgres", r"s LIKE 'a\%'", ("s LIKE 'a%'", "s LIKE 'a!%' ESCAPE '!'")),
    (rf"Leave \ out of the pattern, or {SPARKS}.", "bigquery mysql presto redshift snowflake trino", r"s LIKE 'a\\%'", ("s LIKE 'a%'",)),
    (rf"Leave \ and [ out of the pattern, or {SPARKS}.", "tsql", "CASE WHEN s LIKE '[a-z]%' THEN 1 ELSE 0 END", ("CASE WHEN s LIKE 'a%' THEN 1 ELSE 0 END",)),
    (r"Use letters, digits, ^ $ . * + ? | ( ) [a-z] \d \w \s \. in it, or LIKE.", "bigquery duckdb postgres presto redshift snowflake trino", "REGEXP_LIKE(s, '(?i)a')", ("REGEXP_LIKE(s, '^(a|b)[a-z]*.+c?$')", "s LIKE '%a%'")),
    ("Leave | ? and * behind groups out.", "bigquery duckdb presto trino", "REGEXP_EXTRACT(s, '(a)?b')", ("REGEXP_EXTRACT(s, '(a)b')",)),
    (r"Replace by a text without \ and $, everywhere, or use REPLACE.", "bigquery presto redshift snowflake trino", "REGEXP_REPLACE(s, 'l', '$1')", ("REGEXP_REPLACE(s, 'l', 'L')", "REPLACE(s, 'l', '$1')")),
    (r"Replace by a text without \ and $, everywhere, or use REPLACE.", "duckdb postgres", "REGEXP_REPLACE(s, 'l', '$1', 'g')", ("REGEXP_REPLACE(s, 'l', 'L', 'g')", "REPLACE(s, 'l', '$1')")),
    # arrays
    ("Write one position as a number, in an array whose type is known.", "bigquery duckdb postgres presto snowflake trino", "words[n]", ("words[1]",)),
    (f"Leave the array as it is, or {SPARKS}.", "duckdb postgres presto redshift snowflake trino tsql", "CAST(words AS INT)", ("words",)),
    # times
    ("Write CAST(... AS DATE) or CAST(... AS {time}) around the time in it.", "redshift snowflake tsql", "DATEADD(day, 1, F(n))", ("DATEADD(day, 1, CAST(F(n) AS DATE))", "DATEADD(day, 1, CAST(F(n) AS {time}))")),
    ("Write CAST(... AS DATE) or CAST(... AS {time}) around the time in it.", "bigquery duckdb mysql", "DATE_ADD(F(n), INTERVAL 1 DAY)", ("DATE_ADD(CAST(F(n) AS DATE), INTERVAL 1 DAY)", "DATE_ADD(CAST(F(n) AS {time}), INTERVAL 1 DAY)")),
    ("Write CAST(... AS DATE) or CAST(... AS {time}) around the time in it.", "presto trino", "DATE_ADD('day', 1, F(n))", ("DATE_ADD('day', 1, CAST(F(n) AS DATE))", "DATE_ADD('day', 1, CAST(F(n) AS {time}))")),
    ("Write CAST(... AS TIMESTAMP) around the time in it.", "snowflake", "TO_CHAR(F(n), 'YYYY')", ("TO_CHAR(CAST(F(n) AS TIMESTAMP), 'YYYY')",)),
    ("Write whole ones of a smaller unit.", "bigquery duckdb mysql postgres presto redshift snowflake trino", "a + INTERVAL '1.5' DAY", ("a + INTERVAL '36' HOUR",)),
    ("Write one interval for each unit, such as `t + INTERVAL '1' MONTH + INTERVAL '2' DAY`.", "postgres", "a - INTERVAL '1 month 2 days'", ("a - INTERVAL '1' MONTH - INTERVAL '2' DAY",)),
    (f"Write it with a unit that Spark has (weeks begin on Monday there), or {SPARKS}.", "duckdb postgres presto redshift snowflake trino", "DATE_TRUNC('decade', a)", ("DATE_TRUNC('year', a)", "DATE_TRUNC('week', a)")),
    (f"Write it with a unit that Spark has (weeks begin on Monday there), or {SPARKS}.", "bigquery", "DATE_TRUNC(later, WEEK)", ("DATE_TRUNC(later, ISOWEEK)", "DATE_TRUNC(later, WEEK(MONDAY))")),
    (f"Write it with a unit that Spark has (weeks begin on Monday there), or {SPARKS}.", "tsql", "DATEDIFF(week, a, b)", ("DATEDIFF(day, a, b)",)),
    ("Write it with year, month, day, hour, minute and second as numbers of fixed width, in quotes.", "postgres redshift snowflake", "TO_CHAR(a, 'MON')", ("TO_CHAR(a, 'YYYY-MM-DD HH24:MI:SS')",)),
    ("Write it with year, month, day, hour, minute and second as numbers of fixed width, in quotes.", "mysql presto trino", "DATE_FORMAT(a, '%M')", ("DATE_FORMAT(a, '%Y-%m-%d %H:%i:%s')",)),
    ("Write it with year, month, day, hour, minute and second as numbers of fixed width, in quotes.", "bigquery", "FORMAT_DATE('%B', later)", ("FORMAT_DATE('%Y-%m-%d', later)",)),
    ("Write it with year, month, day, hour, minute and second as numbers of fixed width, in quotes.", "duckdb", "STRFTIME(a, '%B')", ("STRFTIME(a, '%Y-%m-%d %H:%M:%S')",)),
    ("Write it with year, month, day, hour, minute and second as numbers of fixed width, in quotes.", "tsql", "FORMAT(a, 'MMMM')", ("FORMAT(a, 'yyyy-MM-dd HH:mm:ss')",)),
    # time zones
    ("Convert the time before with DATETIME(time, zone).", "bigquery", "TIMESTAMP_TRUNC(a, DAY, 'Asia/Tokyo')", ("DATETIME_TRUNC(DATETIME(a, 'Asia/Tokyo'), DAY)",)),
    ("Write it as a region in quotes, such as 'Europe/Berlin', or as 'UTC'.", "duckdb postgres redshift", "CAST(a AS TIMESTAMPTZ) AT TIME ZONE '+03'", ("CAST(a AS TIMESTAMPTZ) AT TIME ZONE 'Europe/Berlin'", "CAST(a AS TIMESTAMPTZ) AT TIME ZONE 'UTC'")),
    ("Write it as a region in quotes, such as 'Europe/Berlin', or as 'UTC'.", "bigquery", "DATETIME(a, '+09:00')", ("DATETIME(a, 'Europe/Berlin')", "DATETIME(a, 'UTC')")),
    ("Write it as a region in quotes, such as 'Europe/Berlin', or as 'UTC'.", "redshift snowflake", "CONVERT_TIMEZONE('UTC', 'PST', a)", ("CONVERT_TIMEZONE('UTC', 'Europe/Berlin', a)", "CONVERT_TIMEZONE('UTC', 'UTC', a)")),
    ("Convert from UTC, or write the model in Spark's dialect with TO_UTC_TIMESTAMP.", "duckdb postgres redshift", "CAST(a AS TIMESTAMP) AT TIME ZONE 'Asia/Tokyo'", ("CAST(a AS TIMESTAMP) AT TIME ZONE 'UTC'",)),
    ("Convert from UTC, or write the model in Spark's dialect with TO_UTC_TIMESTAMP.", "bigquery", "TIMESTAMP('2024-01-01 00:00:00', 'Asia/Tokyo')", ("TIMESTAMP('2024-01-01 00:00:00', 'UTC')",)),
    ("Convert from UTC, or write the model in Spark's dialect with TO_UTC_TIMESTAMP.", "redshift snowflake", "CONVERT_TIMEZONE('Asia/Tokyo', 'UTC', a)", ("CONVERT_TIMEZONE('UTC', 'Asia/Tokyo', a)",)),
    ("Write CAST(... AS TIMESTAMPTZ) around it where it is one, in UTC.", "duckdb postgres redshift", "a AT TIME ZONE 'Asia/Tokyo'", ("CAST(a AS TIMESTAMPTZ) AT TIME ZONE 'Asia/Tokyo'",)),
    # values at which functions differ
    ("Divide two natural logarithms, or use LOG10.", "bigquery duckdb mysql", "LOG(2, 7)", ("LN(ratio) / LN(2.5e0)", "LOG10(ratio)")),
    ("Divide two natural logarithms, or use LOG10.", "snowflake trino", "LOG(2, 8)", ("CAST(LN(ratio) AS DOUBLE) / LN(2)",)),
    ("Divide two natural logarithms, or use LOG10.", "tsql", "LOG(8, 2)", ("CAST(LOG(ratio) AS FLOAT) / LOG(2)", "LOG10(ratio)")),
    ("Write it as a text in quotes, without \\.", "bigquery presto snowflake trino", "SPLIT(s, t)", ("SPLIT(s, ',')",)),
    ("Write it as a text in quotes, without \\.", "duckdb postgres redshift snowflake", "SPLIT_PART(s, t, 1)", ("SPLIT_PART(s, ',', 1)",)),
    ("Write the part as a number that is not 0.", "duckdb postgres redshift snowflake", "SPLIT_PART(s, ',', n)", ("SPLIT_PART(s, ',', 2)",)),
    ("Write the length as a number of zero or more.", "bigquery duckdb mysql postgres presto redshift snowflake trino", "LPAD(t, n, 'x')", ("LPAD(t, 5, 'x')",)),
    ("Write what it is filled with as a text in quotes.", "bigquery duckdb mysql postgres presto redshift snowflake trino", "RPAD(t, 5, s)", ("RPAD(t, 5, 'x')",)),
    (f"Write it as a text in quotes, or {SPARKS}.", ALL, "CASE WHEN s LIKE t THEN 1 ELSE 0 END", ("CASE WHEN s LIKE 'a%' THEN 1 ELSE 0 END",)),
    ("Write what is looked for as a text in quotes.", "bigquery redshift", "STRPOS(s, t)", ("STRPOS(s, 'x')",)),
    ("Write what is looked for as a text in quotes.", "tsql", "CHARINDEX(t, s)", ("CHARINDEX('x', s)",)),
    ("Write what is replaced as a text in quotes.", "presto redshift snowflake trino", "REPLACE(s, t, 'x')", ("REPLACE(s, 'y', 'x')",)),
    ("Write the digits as a number.", ALL, "ROUND(price, n)", ("ROUND(price, 1)",)),
    ("Cast the number in it to DECIMAL(18, 6).", "bigquery duckdb presto snowflake trino tsql", "ROUND(ratio, 2)", ("ROUND(CAST(ratio AS DECIMAL(18, 6)), 2)",)),
    ("Cast the number in it to {double}.", "bigquery duckdb postgres redshift snowflake", "VAR_POP(price)", ("VAR_POP(CAST(price AS {double}))",)),
    ("Cast the number in it to {double}.", "bigquery postgres", "SIGN(price)", ("SIGN(CAST(price AS {double}))",)),
    ("Cast the number in it to {double}.", "duckdb redshift snowflake", "MEDIAN(price)", ("MEDIAN(CAST(price AS {double}))",)),
    ("Write a date as '2024-02-29', a time as '2024-02-29 10:11:12', a number as digits.", ALL, "CAST('2024' AS DATE)", ("CAST('2024-02-29' AS DATE)", "CAST('2024-02-29 10:11:12' AS {time})", "CAST('12' AS {whole})")),
    ("Cast the condition to {whole}.", "bigquery duckdb postgres presto redshift snowflake trino", "yes = n", ("CAST(yes AS {whole}) = n",)),
    ("Cast the text to {whole}.", ALL, "CASE WHEN s = n THEN 1 ELSE 0 END", ("CASE WHEN CAST(s AS {whole}) = n THEN 1 ELSE 0 END",)),
    ("Cast its sides to numbers.", ALL, "n * s", ("n * CAST(s AS {whole})",)),
    ("Cast the number of days to {whole}.", "bigquery duckdb postgres snowflake", "day + price", ("day + CAST(price AS {whole})",)),
    ("Write CAST(... AS {whole}) around the number in it.", "redshift snowflake tsql", "DATEADD(day, 1.5, day)", ("DATEADD(day, CAST(FLOOR(1.5) AS {whole}), day)",)),
    ("Write CAST(... AS {whole}) around the number in it.", "bigquery duckdb mysql", "DATE_ADD(day, INTERVAL price DAY)", ("DATE_ADD(day, INTERVAL CAST(price AS {whole}) DAY)",)),
    ("Write CAST(... AS {whole}) around the number in it.", "presto trino", "DATE_ADD('day', ratio, day)", ("DATE_ADD('day', CAST(ratio AS {whole}), day)",)),
    ("Write CAST(... AS DATE) or CAST(... AS {time}) around the text in it.", "bigquery mysql presto trino", "DATE(s)", ("DATE(CAST(s AS DATE))", "DATE(CAST(s AS {time}))")),
    ("Cast what is in it to {text}.", "bigquery duckdb postgres", "STRING_AGG(n, ',')", ("STRING_AGG(CAST(n AS {text}), ',')",)),
    ("Cast what is in it to {text}.", "redshift snowflake", "LISTAGG(n, ',')", ("LISTAGG(CAST(n AS {text}), ',')",)),
    ("Cast what is in it to {whole}.", "bigquery duckdb postgres presto redshift snowflake trino", "SUM(yes)", ("SUM(CAST(yes AS {whole}))",)),
    ("Cast what is in it to {whole}.", "mysql", "SUM(yes)", ("SUM(CAST(yes AS SIGNED))",)),
    ("Use it with an array of texts.", "bigquery duckdb postgres", "ARRAY_TO_STRING(ARRAY[1], ',')", ("ARRAY_TO_STRING(words, ',')",)),
    ("Use it with an array of texts.", "presto trino", "ARRAY_JOIN(ARRAY[1], ',')", ("ARRAY_JOIN(words, ',')",)),
    ("Cast its sides to {whole}.", "duckdb", "ratio // 2", ("CAST(ratio AS BIGINT) // 2",)),
    ("Cast its sides to {whole}.", "bigquery postgres", "n & price", ("n & CAST(price AS {whole})",)),
    ("Cast its sides to {whole}.", "snowflake", "BITAND(price, 3)", ("BITAND(CAST(price AS BIGINT), 3)",)),
    ("Cast its sides to DECIMAL(18, 6).", "duckdb presto trino", "ratio % 2", ("CAST(ratio AS DECIMAL(18, 6)) % 2",)),
    ("Cast the number in it to {whole}.", "duckdb postgres", "TO_TIMESTAMP(ratio)", ("TO_TIMESTAMP(CAST(ratio AS BIGINT))",)),
    ("Cast the number to INT.", "postgres", "CAST(n AS SMALLINT) << 1", ("CAST(n AS INT) << 1",)),
    ("Write the letter itself, in quotes.", "duckdb postgres", "CHR(n)", ("'x'",)),
    ("Write the length as a number.", "duckdb", "SUBSTRING(t, 2, n)", ("SUBSTRING(t, 2, 1)",)),
    ("Write the place as a number.", "postgres", "SUBSTRING(s FROM '2')", ("SUBSTRING(s FROM 2)",)),
    ("Ask for dimension 1.", "duckdb postgres", "ARRAY_LENGTH(words, 2)", ("ARRAY_LENGTH(words, 1)",)),
    ("Write + for what it has * for.", "bigquery presto redshift snowflake trino", "REGEXP_REPLACE(s, 'x*', '-')", ("REGEXP_REPLACE(s, 'x+', '-')",)),
    ("Write + for what it has * for.", "duckdb postgres", "REGEXP_REPLACE(s, 'x*', '-', 'g')", ("REGEXP_REPLACE(s, 'x+', '-', 'g')",)),
    ("Use one repetition in it and no |, or REPLACE.", "postgres", "REGEXP_REPLACE(s, 'a|b', 'L', 'g')", ("REGEXP_REPLACE(s, 'a+', 'L', 'g')", "REPLACE(s, 'a', 'L')")),
    ("Use one repetition in it and no |, or REPLACE.", "redshift", "REGEXP_REPLACE(s, 'a|b', 'L')", ("REGEXP_REPLACE(s, 'a+', 'L')", "REPLACE(s, 'a', 'L')")),
    ("Write the letters that are meant, as in [0-9] or [A-Za-z0-9_].", "postgres", r"s ~ '\d'", ("s ~ '[0-9]'", "s ~ '[A-Za-z0-9_]'")),
    ("Write the letters that are meant, as in [0-9] or [A-Za-z0-9_].", "presto trino", r"REGEXP_LIKE(s, '\w')", ("REGEXP_LIKE(s, '[A-Za-z0-9_]')",)),
    ("Use DATEDIFF, or add an interval.", "mysql", "day + 1", ("day + INTERVAL 1 DAY", "DATEDIFF(later, day)")),
    ("Use DATEDIFF, or DATEADD.", "tsql", "day - later", ("DATEDIFF(day, later, day)", "DATEADD(day, -1, day)")),
    ("Write one side as a number of zero or more.", "mysql", "n & -1", ("n & 1",)),
    ("Write the number without quotes, or CAST(... AS DECIMAL(18, 2)).", "presto trino", "DECIMAL '1.5'", ("1.5", "CAST('1.5' AS DECIMAL(18, 2))")),
    ("Write DATEADD(day, d - 1, DATEADD(month, m - 1, ...)), or a date in quotes.", "snowflake", "DATE_FROM_PARTS(2024, n, 1)", ("DATEADD(day, z - 1, DATEADD(month, n - 1, DATE '2024-01-01'))", "CAST('2024-01-01' AS DATE)")),
    ("Write the number of times as a number.", "tsql", "REPLICATE(s, n)", ("REPLICATE(s, 2)",)),
    ("Cast to VARCHAR(30), and use LEFT where it should be cut.", "tsql", "CAST(n AS VARCHAR(3))", ("LEFT(CAST(n AS VARCHAR(30)), 3)",)),
    ("Write what stands between as a text in quotes.", "tsql", "CONCAT_WS(t, s, s)", ("CONCAT_WS('-', s, s)",)),
    ("Compare the number with 0.", "bigquery duckdb mysql presto trino", "IF(n, 1, 2)", ("IF(n <> 0, 1, 2)",)),
    ("Compare the number with 0.", "snowflake", "IFF(n, 1, 2)", ("IFF(n <> 0, 1, 2)",)),
    (f"Write it with a unit that Spark has (weeks begin on Monday there), or {SPARKS}.", "duckdb", "DATE_PART('dow', later)", ("DATE_PART('month', later)",)),
    (f"Write CAST(CAST(... AS DECIMAL(18, 6)) AS {{text}}), or {SPARKS}.", "duckdb mysql postgres presto redshift snowflake trino tsql", "UPPER(ratio)", ("UPPER(CAST(CAST(ratio AS DECIMAL(18, 6)) AS {text}))",)),
]  # fmt: skip


def named(text: str, dialect: str) -> str:
    """A text of a row with the names that a dialect has for types."""
    for each, name in NAMES[dialect].items():
        text = text.replace(f"{{{each}}}", name)
    return text


def load(expression: str, dialect: str) -> None:
    """Read a query as one of a model that creates the function F."""
    query = sqlglot.parse_one(f"SELECT {expression} AS c FROM s.t", read=dialect)
    assert isinstance(query, exp.Query)
    canonicalize(query, dialect=dialect, schemas=SCHEMAS, functions={"f"})


def refusal(expression: str, dialect: str) -> Finding:
    with pytest.raises(QueryInvalid) as caught:
        load(expression, dialect)
    return caught.value.findings[0]


def cases() -> Iterator[tuple[str, str, str, str, tuple[str, ...]]]:
    for advice, dialects, expression, instead in ROWS:
        for dialect in dialects.split():
            yield (f"{dialect}: {expression}", dialect, advice, expression, instead)


def advised() -> Iterator[ParameterSet]:
    """The short form has two dialects of each row, one after the other."""
    for number, (advice, dialects, expression, instead) in enumerate(ROWS):
        every = dialects.split()
        chosen = {every[(2 * number + each) % len(every)] for each in (0, 1)}
        for dialect in every:
            name = f"{dialect}: {expression}"
            yield pytest.param(
                name,
                dialect,
                advice,
                expression,
                instead,
                marks=() if dialect in chosen else pytest.mark.full,
            )


@pytest.mark.parametrize("name,dialect,advice,expression,instead", list(advised()))
def test_what_is_advised_can_be_written(
    name: str, dialect: str, advice: str, expression: str, instead: tuple[str, ...]
) -> None:
    assert refusal(named(expression, dialect), dialect).advice == named(advice, dialect)
    for each in instead:
        load(named(each, dialect), dialect)


@pytest.mark.parametrize("dialect", NAMES)
def test_no_other_advice_is_given(dialect: str) -> None:
    """Of all that the lists of the dialects know as refused."""
    tried = {named(advice, dialect) for _, each, advice, _, _ in cases() if each == dialect}
    refused = [each for each in MODULES[dialect].REFUSED.split("\n") if each]
    assert [each for each in refused if refusal(each, dialect).advice not in tried] == []
