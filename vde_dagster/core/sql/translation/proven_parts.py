"""The parts of SQL that were run on Spark and compared, for each dialect that is translated.

`vde_dagster.core.sql.translation.proven.part_of` gives their names. Tests run every one of them.
"""

from __future__ import annotations

from typing import Final


def _parts(text: str) -> frozenset[str]:
    return frozenset(each.strip() for each in text.replace("\n", " ").split(";"))


_COMMON: Final = _parts("""
Abs(this); Add(expression,this); Avg(this); Between(high,low,this);
BitwiseAnd(expression,this); Case(default,ifs); Case(default,ifs,this); Case(ifs);
Case(ifs,this); Cast(this,to);
Ceil(this); Coalesce(expressions,this); Concat(expressions); Count(this); CumeDist();
DenseRank(); Distinct(); Distinct(expressions); EQ(expression,this); Exists(this); Exp(this);
Extract YEAR; FirstValue(this); Floor(this); GT(expression,this); GTE(expression,this);
If(this,true); In(expressions,this); In(query,this); Is(expression,this); LT(expression,this);
LTE(expression,this); Lag(default,offset,this); Lag(this); LastValue(this);
Lead(default,offset,this); Like(expression,this); Ln(this); Lower(this); Max(this); Min(this);
Mod(expression,this); Mul(expression,this); NEQ(expression,this); Neg(this); Ntile(this);
Nullif(expression,this); PercentRank(); Pow(expression,this); Rank();
Replace(expression,replacement,this); Reverse(this); RowNumber(); Sqrt(this);
Sub(expression,this); Sum(this); Trim(position,this); Trim(this); Upper(this); type BIGINT;
type DATE; type DECIMAL
""")
"""What is proven for every dialect."""

_BIGQUERY: Final = _parts("""
ArgMax(expression,this); ArgMin(expression,this); Array(expressions,struct_name_inheritance);
ArrayConcat(expressions,this); ArraySize(this); ArrayToString(expression,this); Ascii(this);
AtTimeZone(this,zone); BitwiseAndAgg(this); BitwiseNot(this); BitwiseOr(expression,this);
BitwiseXor(expression,this); Bracket(expressions,this); CountIf(this); Cube(expressions);
CurrentDate(); CurrentTimestamp(); DPipe(expression,this); Date(this); Date(this,zone);
DateAdd(expression,this,unit); DateDiff(date_part_boundary,expression,this,unit) DAY;
DateDiff(date_part_boundary,expression,this,unit) MONTH;
DateDiff(date_part_boundary,expression,this,unit) QUARTER;
DateDiff(date_part_boundary,expression,this,unit) YEAR; DateFromParts(day,month,year);
DateFromUnixDate(this); DateSub(expression,this,unit); DateTrunc(this,unit) DAY;
DateTrunc(this,unit) ISOWEEK; DateTrunc(this,unit) MONTH; DateTrunc(this,unit) QUARTER;
DateTrunc(this,unit) WEEK(MONDAY); DateTrunc(this,unit) YEAR; Datetime(expression,this);
DatetimeAdd(expression,this,unit); DatetimeDiff(date_part_boundary,expression,this,unit) DAY;
DatetimeDiff(date_part_boundary,expression,this,unit) HOUR;
DatetimeDiff(date_part_boundary,expression,this,unit) MINUTE;
DatetimeDiff(date_part_boundary,expression,this,unit) MONTH;
DatetimeDiff(date_part_boundary,expression,this,unit) QUARTER;
DatetimeDiff(date_part_boundary,expression,this,unit) SECOND;
DatetimeDiff(date_part_boundary,expression,this,unit) YEAR; DatetimeSub(expression,this,unit);
DatetimeTrunc(this,unit) DAY; DatetimeTrunc(this,unit) HOUR; DatetimeTrunc(this,unit) MINUTE;
DatetimeTrunc(this,unit) MONTH; DatetimeTrunc(this,unit) QUARTER;
DatetimeTrunc(this,unit) SECOND; DatetimeTrunc(this,unit) YEAR; Div(expression,this);
EndsWith(expression,this); Extract DATE; Extract DAY; Extract DAYOFWEEK; Extract DAYOFYEAR;
Extract HOUR; Extract ISOWEEK; Extract ISOYEAR; Extract MINUTE; Extract MONTH; Extract QUARTER;
Extract SECOND; Greatest(expressions,this); GroupConcat(separator,this);
GroupingSets(expressions); If(false,this,true); IgnoreNulls(this); IntDiv(expression,this);
Interval(this,unit); LastDay(this); LastDay(this,unit) MONTH; Least(expressions,this);
Left(expression,this); Length(binary,this); Length(this); Like(expression,negate,this);
Log(expression,this); LogicalAnd(this); LogicalOr(this); MD5(this); NthValue(offset,this);
NullSafeEQ(expression,this); NullSafeNEQ(expression,this);
Pad(expression,fill_pattern,is_left,this); Pad(expression,fill_pattern,this);
Pad(expression,is_left,this); Qualify(this);
RegexpExtract(expression,group,null_if_no_match,null_if_pos_overflow,this);
RegexpExtract(expression,null_if_no_match,null_if_pos_overflow,this);
RegexpLike(expression,this); RegexpReplace(expression,replacement,this); Repeat(this,times);
Right(expression,this); Rollup(expressions); Round(decimals,this); Round(this);
SafeDivide(expression,this); Sign(this); Split(expression,this); StartsWith(expression,this);
Stddev(this); StddevPop(this); StddevSamp(this); StrPosition(substr,this);
StrToDate(default_year,format,this); StrToTime(default_year,format,this);
Substring(length,start,this); Substring(start,this); TimeToStr(format,this);
Timestamp(this,with_tz); Timestamp(this,with_tz,zone); TimestampAdd(expression,this,unit);
TimestampDiff(expression,this,unit) DAY; TimestampDiff(expression,this,unit) HOUR;
TimestampDiff(expression,this,unit) MINUTE; TimestampDiff(expression,this,unit) SECOND;
TimestampSub(expression,this,unit); TimestampTrunc(this,unit) DAY;
TimestampTrunc(this,unit) HOUR; TimestampTrunc(this,unit) ISOWEEK;
TimestampTrunc(this,unit) MINUTE; TimestampTrunc(this,unit) MONTH;
TimestampTrunc(this,unit) QUARTER; TimestampTrunc(this,unit) SECOND;
TimestampTrunc(this,unit) YEAR; TimestampTrunc(this,unit,zone) DAY; Trim(expression,this);
Trunc(this); TsOrDsToDate(this); TsOrDsToDatetime(this); TsOrDsToTimestamp(this);
UnixDate(this); UnixMicros(this); UnixMillis(this); UnixSeconds(this); UnixToTime(scale,this);
UnixToTime(this); Unnest(alias,expressions); Variance(this); VariancePop(this);
WeekStart(this); type BOOLEAN; type DOUBLE; type TEXT; type TIMESTAMP; type TIMESTAMPTZ
""")

_DUCKDB: Final = _parts("""
Any(this); Array(expressions); ArraySize(expression,this); ArrayToString(expression,this);
Ascii(this); AtTimeZone(this,zone); BitwiseAndAgg(this); BitwiseNot(this);
BitwiseOr(expression,this); BitwiseOrAgg(this); BitwiseXor(expression,this);
Bracket(expressions,this); Chr(expressions); ConcatWs(expressions); Contains(expression,this);
CountIf(this); CovarPop(expression,this); CovarSamp(expression,this); Cube(expressions);
CurrentDate(); DATE_PART() DAY; DATE_PART() DOY; DATE_PART() HOUR; DATE_PART() MINUTE;
DATE_PART() MONTH; DATE_PART() QUARTER; DATE_PART() WEEK; DATE_PART() YEAR;
DPipe(expression,this); DateAdd(expression,this);
DateDiff(date_part_boundary,expression,this,unit) DAY;
DateDiff(date_part_boundary,expression,this,unit) HOUR;
DateDiff(date_part_boundary,expression,this,unit) MINUTE;
DateDiff(date_part_boundary,expression,this,unit) MONTH;
DateDiff(date_part_boundary,expression,this,unit) QUARTER;
DateDiff(date_part_boundary,expression,this,unit) SECOND;
DateDiff(date_part_boundary,expression,this,unit) YEAR; DateDiff(expression,this,unit) WEEK;
DateFromParts(day,month,year); Day(this); DayOfWeek(this); DayOfWeekIso(this); DayOfYear(this);
Distinct(on); Div(expression,this); EndsWith(expression,this); Escape(expression,this);
Explode(this); Extract DAY; Extract DOW; Extract DOY; Extract HOUR; Extract ISODOW;
Extract ISOYEAR; Extract MINUTE; Extract MONTH; Extract QUARTER; Extract SECOND; Extract WEEK;
Filter(expression,this); Greatest(expressions,ignore_nulls,this); GroupConcat(separator,this);
GroupingSets(expressions); Hour(this); ILike(expression,this); If(false,this,true);
IgnoreNulls(this); IntDiv(expression,this); Interval(this,unit); LastDay(this);
Least(expressions,ignore_nulls,this); Left(expression,this); Length(this);
Like(expression,negate,this); Log(expression,this); Log(this); LogicalAnd(this);
LogicalOr(this); MD5(this); Median(this); Minute(this); Month(this); NOW();
NthValue(offset,this); NullSafeEQ(expression,this); NullSafeNEQ(expression,this);
Pad(expression,fill_pattern,is_left,this); Pad(expression,fill_pattern,this); Pi();
Qualify(this); Quarter(this); RegexpExtract(expression,group,null_if_pos_overflow,this);
RegexpILike(expression,this); RegexpLike(expression,this);
RegexpReplace(expression,modifiers,replacement,single_replace,this); Repeat(this,times);
Right(expression,this); Rollup(expressions); Round(decimals,this); Round(this);
Split(expression,this); SplitPart(delimiter,part_index,this); StartsWith(expression,this);
Stddev(this); StddevPop(this); StddevSamp(this); StrPosition(substr,this);
StrToTime(format,this); Substring(length,start,this); Substring(start,this);
TimeToStr(format,this); TimestampFromParts(day,hour,min,month,sec,year);
TimestampTrunc(this,unit) DAY; TimestampTrunc(this,unit) HOUR;
TimestampTrunc(this,unit) MINUTE; TimestampTrunc(this,unit) MONTH;
TimestampTrunc(this,unit) QUARTER; TimestampTrunc(this,unit) SECOND;
TimestampTrunc(this,unit) WEEK; TimestampTrunc(this,unit) YEAR; Translate(from_,this,to);
Trim(expression,position,this); Trunc(this); UnixToTime(this); Unnest(alias,expressions);
Variance(this); VariancePop(this); Week(this); Year(this); type BOOLEAN; type DOUBLE;
type FLOAT; type INT; type SMALLINT; type TEXT; type TIMESTAMPNTZ; type TIMESTAMPTZ;
type TINYINT
""")

_MYSQL: Final = _parts("""
ConcatWs(expressions); CurrentDate(); CurrentTimestamp(); DateAdd(expression,this,unit);
DateDiff(date_part_boundary,expression,this); DateSub(expression,this,unit); Day(this);
DayOfMonth(this); DayOfWeek(this); DayOfYear(this); Div(expression,this);
Greatest(expressions,this); Hour(this); If(false,this,true); IntDiv(expression,this);
Interval(this,unit); LastDay(this); Least(expressions,this); Left(expression,this);
Length(binary,this); Length(this); Like(expression,negate,this); Log(expression,this);
MD5(this); Minute(this); Month(this); NOW(); NthValue(offset,this);
NullSafeEQ(expression,this); Pad(expression,fill_pattern,is_left,this);
Pad(expression,fill_pattern,this); Quarter(this); Repeat(this,times); Right(expression,this);
Round(decimals,this); Round(this); Second(this); StddevPop(this); StddevSamp(this);
StrPosition(substr,this); StrToDate(format,this); Substring(length,start,this);
Substring(start,this); SubstringIndex(count,delimiter,this); TimeToStr(format,this);
TimestampDiff(expression,this,unit) DAY; TimestampDiff(expression,this,unit) HOUR;
TimestampDiff(expression,this,unit) MINUTE; TimestampDiff(expression,this,unit) MONTH;
TimestampDiff(expression,this,unit) QUARTER; TimestampDiff(expression,this,unit) SECOND;
TimestampDiff(expression,this,unit) WEEK; TimestampDiff(expression,this,unit) YEAR;
TsOrDsToDate(this); TsOrDsToTimestamp(this); Variance(this); VariancePop(this); Year(this);
type CHAR; type DATETIME; type DOUBLE
""")

_POSTGRES: Final = _parts("""
Any(this); Array(expressions); ArraySize(expression,this); ArrayToString(expression,this);
Ascii(this); AtTimeZone(this,zone); Between(high,low,symmetric,this); BitwiseAndAgg(this);
BitwiseLeftShift(expression,this); BitwiseNot(this); BitwiseOr(expression,this);
BitwiseOrAgg(this); BitwiseRightShift(expression,this); BitwiseXor(expression,this);
Bracket(expressions,this); CARDINALITY(); Chr(expressions); ConcatWs(expressions);
Corr(expression,this); CovarPop(expression,this); CovarSamp(expression,this);
Cube(expressions); CurrentDate(); CurrentTimestamp(); DPipe(expression,this); Distinct(on);
Div(expression,this,typed); Escape(expression,this); Explode(this); Extract DAY; Extract DOW;
Extract DOY; Extract EPOCH; Extract HOUR; Extract ISODOW; Extract ISOYEAR; Extract MINUTE;
Extract MONTH; Extract QUARTER; Extract SECOND; Extract WEEK;
Fetch(count,direction,limit_options); Filter(expression,this);
Greatest(expressions,ignore_nulls,this); GroupConcat(separator,this);
GroupingSets(expressions); ILike(expression,this); IntDiv(expression,this); Interval(this);
Interval(this,unit); Is(expression,negate,this); Least(expressions,ignore_nulls,this);
Left(expression,this); Length(this); Like(expression,negate,this); LimitOptions(rows);
Log(this); LogicalAnd(this); LogicalOr(this); MAKE_DATE(); MD5(this); NthValue(offset,this);
NullSafeEQ(expression,this); NullSafeNEQ(expression,this);
Pad(expression,fill_pattern,is_left,this); Pad(expression,fill_pattern,this);
Pad(expression,is_left,this); RegexpILike(expression,this); RegexpLike(expression,this);
RegexpReplace(expression,modifiers,replacement,single_replace,this); Repeat(this,times);
Right(expression,this); Rollup(expressions); Round(decimals,this); Round(this); Sign(this);
SplitPart(delimiter,part_index,this); StartsWith(expression,this); Stddev(this);
StddevPop(this); StddevSamp(this); StrPosition(substr,this); StrToDate(format,this);
StrToTime(format,this); Substring(length,start,this); Substring(start,this);
TimeToStr(format,this); TimestampTrunc(this,unit) DAY; TimestampTrunc(this,unit) HOUR;
TimestampTrunc(this,unit) MINUTE; TimestampTrunc(this,unit) MONTH;
TimestampTrunc(this,unit) QUARTER; TimestampTrunc(this,unit) SECOND;
TimestampTrunc(this,unit) WEEK; TimestampTrunc(this,unit) YEAR; Translate(from_,this,to);
Trim(expression,position,this); Trunc(this); UnixToTime(this); Variance(this);
VariancePop(this); type BOOLEAN; type DOUBLE; type FLOAT; type INT; type SMALLINT; type TEXT;
type TIMESTAMP; type TIMESTAMPTZ; type VARCHAR
""")

_REDSHIFT: Final = _parts("""
Ascii(this); AtTimeZone(this,zone); ConvertTimezone(source_tz,target_tz,timestamp);
Cube(expressions); CurrentDate(); CurrentTimestamp(); DPipe(expression,this);
DecodeCase(expressions); Div(expression,this,typed); Extract DOW; Extract DOY; Extract HOUR;
Extract MONTH; Extract WEEK; Greatest(expressions,ignore_nulls,this);
GroupConcat(separator,this); GroupingSets(expressions); ILike(expression,this);
Interval(this,unit); LastDay(this); Least(expressions,ignore_nulls,this);
Left(expression,this); Length(this); Like(expression,negate,this); Log(this); LogicalAnd(this);
LogicalOr(this); MD5(this); Median(this); NthValue(offset,this); Nvl2(false,this,true);
Pad(expression,fill_pattern,is_left,this); Pad(expression,fill_pattern,this);
RegexpLike(expression,this); RegexpReplace(expression,replacement,single_replace,this);
Repeat(this,times); Right(expression,this); Rollup(expressions); Round(decimals,this);
Round(this); SplitPart(delimiter,part_index,this); StddevPop(this); StddevSamp(this);
StrPosition(substr,this); StrToDate(format,this); Substring(length,start,this);
TimeToStr(format,this); TimestampTrunc(this,unit) DAY; TimestampTrunc(this,unit) HOUR;
TimestampTrunc(this,unit) MINUTE; TimestampTrunc(this,unit) MONTH;
TimestampTrunc(this,unit) QUARTER; TimestampTrunc(this,unit) SECOND;
TimestampTrunc(this,unit) WEEK; TimestampTrunc(this,unit) YEAR; Translate(from_,this,to);
Trim(expression,position,this); Trunc(this); TsOrDsAdd(expression,return_type,this,unit);
TsOrDsDiff(expression,this,unit) DAY; TsOrDsDiff(expression,this,unit) HOUR;
TsOrDsDiff(expression,this,unit) MINUTE; TsOrDsDiff(expression,this,unit) MONTH;
TsOrDsDiff(expression,this,unit) QUARTER; TsOrDsDiff(expression,this,unit) SECOND;
TsOrDsDiff(expression,this,unit) YEAR; Variance(this); VariancePop(this);
WithinGroup(expression,this); type BOOLEAN; type DOUBLE; type FLOAT; type INT; type SMALLINT;
type TIMESTAMP; type TIMESTAMPTZ; type VARCHAR
""")

_SNOWFLAKE: Final = _parts("""
ArraySize(this); BitwiseOr(expression,this); BitwiseXor(expression,this);
Bracket(expressions,this); ConcatWs(expressions); Contains(expression,this);
ConvertTimezone(source_tz,target_tz,timestamp); Corr(expression,null_on_zero_variance,this);
CountIf(this,zero_on_all_null); Cube(expressions); CurrentDate(); CurrentTimestamp();
DPipe(expression,this); DateAdd(expression,this,unit);
DateDiff(date_part_boundary,expression,this,unit) DAY;
DateDiff(date_part_boundary,expression,this,unit) HOUR;
DateDiff(date_part_boundary,expression,this,unit) MINUTE;
DateDiff(date_part_boundary,expression,this,unit) MONTH;
DateDiff(date_part_boundary,expression,this,unit) QUARTER;
DateDiff(date_part_boundary,expression,this,unit) SECOND;
DateDiff(date_part_boundary,expression,this,unit) WEEK;
DateDiff(date_part_boundary,expression,this,unit) YEAR;
DateFromParts(allow_overflow,day,month,year); DateTrunc(input_type_preserved,this,unit) HOUR;
Day(this); DayOfMonth(this); DayOfWeek(this); DayOfYear(this); DecodeCase(expressions);
Div(expression,this); EndsWith(expression,this); EqualNull(expression,this); Extract DAY;
Extract MONTH; Greatest(expressions,this); GroupConcat(separator,this);
GroupingSets(expressions); Hour(this); ILike(expression,this); If(false,this,true);
IgnoreNulls(this); Interval(this,unit); LastDay(this); Least(expressions,this);
Left(expression,negative_length_returns_empty,this); Length(binary,this); Log(expression,this);
LogicalAnd(this); LogicalOr(this); MD5(this); Median(this); Minute(this); Month(this);
NthValue(offset,this); NullSafeNEQ(expression,this); Nvl2(false,this,true);
Pad(expression,fill_pattern,is_left,this); Pad(expression,fill_pattern,this); Qualify(this);
Quarter(this); RegexpLike(expression,full_match,this);
RegexpReplace(expression,replacement,this); Repeat(this,times);
Right(expression,negative_length_returns_empty,this); Rollup(expressions);
Round(casts_non_integer_decimals,decimals,this); Round(casts_non_integer_decimals,this);
Second(this); Split(empty_delimiter_returns_whole,expression,null_returns_null,this);
SplitPart(delimiter,empty_delimiter_returns_whole,part_index,part_index_zero_as_one,this);
StartsWith(expression,this); Stddev(this); StddevPop(this);
StrPosition(clamp_position,substr,this); StrToTime(format,target_type,this);
TimeToStr(format,this);
Substring(length,start,this,zero_start); Substring(start,this,zero_start);
TimestampTrunc(input_type_preserved,this,unit) DAY;
TimestampTrunc(input_type_preserved,this,unit) HOUR;
TimestampTrunc(input_type_preserved,this,unit) MINUTE;
TimestampTrunc(input_type_preserved,this,unit) MONTH;
TimestampTrunc(input_type_preserved,this,unit) QUARTER;
TimestampTrunc(input_type_preserved,this,unit) SECOND;
TimestampTrunc(input_type_preserved,this,unit) WEEK;
TimestampTrunc(input_type_preserved,this,unit) YEAR; ToChar(format,this);
Trim(expression,position,this); Trim(expression,this); Trunc(fractions_supported,this);
TsOrDsToDate(format,this); Variance(this); VariancePop(this); Week(this); Year(this);
type BOOLEAN; type DOUBLE; type INT; type SMALLINT; type TEXT; type TIMESTAMP;
type TIMESTAMPNTZ; type VARCHAR
""")

_PRESTO: Final = _parts("""
ArgMax(expression,this); ArgMin(expression,this); Array(expressions);
ArrayContains(expression,this); ArrayDistinct(this); ArraySize(this);
ArraySort(nulls_first,this); ArrayToString(expression,this); BitwiseOr(expression,this);
BitwiseXor(expression,this); Bracket(expressions,this); Corr(expression,this); CountIf(this);
Cube(expressions); CurrentDate(); CurrentTimestamp(); DPipe(expression,this); Date(this);
DateAdd(expression,this,unit); DateDiff(expression,this,unit) DAY;
DateDiff(expression,this,unit) HOUR; DateDiff(expression,this,unit) MINUTE;
DateDiff(expression,this,unit) SECOND; Day(this); DayOfMonth(this); DayOfWeekIso(this);
DayOfYear(this); Div(expression,this,typed); Extract DOW; Extract DOY; Filter(expression,this);
Greatest(expressions,this); GroupingSets(expressions); Hour(this); If(false,this,true);
IgnoreNulls(this); Interval(this,unit); LastDay(this); Least(expressions,this); Length(this);
Like(expression,negate,this); LogicalAnd(this); LogicalOr(this); Minute(this); Month(this);
NthValue(offset,this); NullSafeNEQ(expression,this); Pad(expression,fill_pattern,is_left,this);
Pad(expression,fill_pattern,this); Quarter(this);
RegexpExtract(expression,group,null_if_pos_overflow,this); RegexpLike(expression,this);
RegexpReplace(expression,replacement,this); Rollup(expressions); Round(decimals,this);
Round(this); Second(this); Split(expression,this); StartsWith(expression,this); Stddev(this);
StddevPop(this); StrPosition(substr,this); StrToTime(format,this);
Substring(length,start,this); Substring(start,this); TimeToStr(format,this);
TimestampTrunc(this,unit) DAY; TimestampTrunc(this,unit) HOUR;
TimestampTrunc(this,unit) MINUTE; TimestampTrunc(this,unit) MONTH;
TimestampTrunc(this,unit) QUARTER; TimestampTrunc(this,unit) SECOND;
TimestampTrunc(this,unit) WEEK; TimestampTrunc(this,unit) YEAR; Translate(from_,this,to);
Trunc(this); Unnest(alias,expressions); Variance(this); VariancePop(this); WeekOfYear(this);
Year(this); type BOOLEAN; type DOUBLE; type FLOAT; type INT; type SMALLINT; type TIMESTAMP;
type VARCHAR
""")
"""What is proven for Presto, and for Trino, which began as Presto."""

_TRINO: Final = _PRESTO | _parts("""
ConcatWs(expressions); Fetch(count,direction,limit_options); GroupConcat(separator,this);
LimitOptions(rows); Log(expression,this); Trim(expression,position,this)
""")

_TSQL: Final = _parts("""
BitwiseOr(expression,this); BitwiseXor(expression,this); Coalesce(expressions,is_null,this);
ConcatWs(expressions); Cube(expressions); CurrentTimestamp(); DateAdd(expression,this,unit);
DateDiff(expression,this,unit) DAY; DateDiff(expression,this,unit) HH;
DateDiff(expression,this,unit) HOUR; DateDiff(expression,this,unit) MI;
DateDiff(expression,this,unit) MINUTE; DateDiff(expression,this,unit) MONTH;
DateDiff(expression,this,unit) QUARTER; DateDiff(expression,this,unit) S;
DateDiff(expression,this,unit) SECOND; DateDiff(expression,this,unit) YEAR;
DateFromParts(day,month,year); Day(this); Div(expression,this,typed); Extract MONTH;
Greatest(expressions,ignore_nulls,this); GroupConcat(separator,this);
GroupingSets(expressions); If(false,this,true); LastDay(this);
Least(expressions,ignore_nulls,this); Left(expression,this); Length(this);
Like(expression,negate,this); Log(expression,this); Month(this); Repeat(this,times);
Right(expression,this); Rollup(expressions); Round(decimals,this); Stddev(this);
StrPosition(substr,this); Substring(length,start,this); TimeStrToTime(this);
TimeToStr(format,this); TimestampTrunc(this,unit) DAY; TimestampTrunc(this,unit) HOUR;
TimestampTrunc(this,unit) MINUTE; TimestampTrunc(this,unit) MONTH;
TimestampTrunc(this,unit) QUARTER; TimestampTrunc(this,unit) SECOND;
TimestampTrunc(this,unit) YEAR; TsOrDsToDate(default_date,this); TsOrDsToDate(this);
Year(this); type BIT; type DATETIME; type DATETIME2; type FLOAT; type INT; type NVARCHAR;
type SMALLINT; type TEXT; type VARCHAR
""")

_SPACES: Final = _parts("Trim(position,this); Trim(this)")
"""Functions that also remove tabs in some dialects."""

PROVEN: Final = {
    "bigquery": _COMMON | _BIGQUERY,
    "duckdb": (_COMMON - _parts("Reverse(this)")) | _DUCKDB,
    "mysql": _COMMON | _MYSQL,
    "postgres": _COMMON | _POSTGRES,
    "presto": (_COMMON - _SPACES) | _PRESTO,
    "redshift": _COMMON | _REDSHIFT,
    "snowflake": _COMMON | _SNOWFLAKE,
    "trino": (_COMMON - _SPACES) | _TRINO,
    "tsql": _COMMON | _TSQL,
}
"""By the name of the dialect."""
