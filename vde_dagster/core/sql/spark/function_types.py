"""Functions and operators of Spark that return one type, whatever they are called with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.spark.number_types import VOID

_RETURNING: Final[Mapping[str, tuple[type[exp.Expr], ...]]] = {
    VOID: (exp.Null,),
    "boolean": (
        *(exp.Boolean, exp.And, exp.Or, exp.Not, exp.In, exp.Between, exp.Is, exp.Exists),
        *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
        *(exp.Like, exp.ILike, exp.RegexpLike, exp.StartsWith, exp.EndsWith, exp.IsNan),
        *(exp.LogicalAnd, exp.LogicalOr, exp.ArrayContains),
    ),
    "string": (
        *(exp.Lower, exp.Upper, exp.Trim, exp.Initcap, exp.ConcatWs, exp.Replace, exp.Translate),
        *(exp.RegexpReplace, exp.RegexpExtract, exp.Hex, exp.MD5, exp.SHA2, exp.TimeToStr),
        *(exp.UnixToStr, exp.JSONExtractScalar, exp.Uuid),
    ),
    "int": (
        *(exp.Length, exp.Ascii, exp.Levenshtein, exp.StrPosition, exp.ArraySize),
        *(exp.Year, exp.Quarter, exp.Month, exp.WeekOfYear, exp.Day, exp.DayOfMonth),
        *(exp.DayOfWeek, exp.DayOfYear, exp.Hour, exp.Minute, exp.Second),
        *(exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile),
    ),
    "bigint": (exp.Count, exp.CountIf, exp.ApproxDistinct, exp.IntDiv, exp.StrToUnix),
    "double": (
        *(exp.Sqrt, exp.Cbrt, exp.Exp, exp.Ln, exp.Log, exp.Pow, exp.Sign, exp.Rand),
        *(exp.Sin, exp.Cos, exp.Tan, exp.Asin, exp.Acos, exp.Atan, exp.Radians, exp.Degrees),
        *(exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Corr),
        *(exp.CovarPop, exp.CovarSamp, exp.PercentRank, exp.CumeDist, exp.MonthsBetween),
    ),
    "date": (
        *(exp.CurrentDate, exp.TsOrDsToDate, exp.LastDay, exp.AddMonths, exp.DateTrunc),
        exp.NextDay,
    ),
    "timestamp": (exp.CurrentTimestamp, exp.TimestampTrunc, exp.StrToTime),
    "array<string>": (exp.RegexpSplit,),
}
FIXED: Final[Mapping[type[exp.Expr], str]] = {
    each: kind for kind, nodes in _RETURNING.items() for each in nodes
}
"""The type that a sort of node has, as Spark's parser of sqlglot makes them."""

BY_NAME: Final[Mapping[str, str]] = {
    "now": "timestamp",
    "hash": "int",
    "xxhash64": "bigint",
    "crc32": "bigint",
    "make_date": "date",
    "format_number": "string",
    "tinyint": "tinyint",
    "smallint": "smallint",
    "int": "int",
    "bigint": "bigint",
    "decimal": "decimal(10,0)",
}
"""The same by the names of functions that sqlglot does not know."""
