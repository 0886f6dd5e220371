"""The rows of a batch as a DataFrame: from SQL, a user's Python function, or a CSV text.

Every error in a user's query or function is raised here, or by `failures`, as EvaluationFailed.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NoReturn, assert_never, cast

from pyspark.errors import PySparkException, PythonException, QueryContextType
from pyspark.sql import DataFrame
from sqlglot import TokenType, tokenize
from sqlglot.errors import SqlglotError

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.faults import fault_of, lost_java
from vde_dagster.core.ledger.unit_of_work import (
    CsvRows,
    FrameRows,
    Input,
    PythonRows,
    RowSource,
    SqlRows,
)
from vde_dagster.core.model.seed_rows import seed_columns, seed_rows
from vde_dagster.core.names import DEFAULT_SCHEMA
from vde_dagster.core.sql.places import with_relations
from vde_dagster.lakehouse.spark.connect import analysed_once, require_own_frame
from vde_dagster.lakehouse.spark.model_functions import model_function
from vde_dagster.lakehouse.staging.table_rows import input_frame, input_sql
from vde_dagster.runtime.users_code import error_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WRAPPERS: Final = (
    "Job aborted",
    "Writing job failed",
    "An error occurred while calling",
    "[WRITING_JOB",
    "Exception thrown in awaitResult",
)
_CAUSED_BY: Final = "Caused by: "
_RAISED: Final = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*?)(?: SQLSTATE: P0001)?")
"""A message that a user's SQL raises, as by `raise_error`, and what Spark puts around it."""


@dataclass(kw_only=True, eq=False, repr=False)
class ModelContext:
    """What a Python model's function is called with."""

    spark: SparkSession
    """The session that evaluates the model."""
    start: datetime
    """The first instant of the interval."""
    end: datetime
    """The exclusive end of the interval."""
    execution_time: datetime
    """The time at which the evaluation was requested."""
    variables: Mapping[str, object]
    """The variables of the project that the model reads, by lower-case name."""
    _model: str
    _tables: Mapping[str, DataFrame]

    def table(self, name: str) -> DataFrame:
        """The rows of a table that the model declares in ``depends_on``, as of this evaluation.

        Raises:
            EvaluationFailed: The model does not declare the name.
        """
        written = name.strip().lower()
        found = self._tables.get(written if "." in written else f"{DEFAULT_SCHEMA}.{written}")
        if found is None:
            declared = ", ".join(sorted(self._tables)) or "nothing"
            raise EvaluationFailed(
                f"{self._model} reads {name!r}, which it does not declare; it may read {declared}",
                advice="Add the name to depends_on.",
            )
        return found

    def var(self, name: str, default: object = None) -> object:
        """A variable of the project (``variables`` in vde.yaml); the default where it has none."""
        return self.variables.get(name.lower(), default)


def qualified(sql: str, catalog: str, inputs: Mapping[str, Input] = MappingProxyType({})) -> str:
    """A query whose two-part table names are completed with a catalog, over these inputs.

    Raises:
        EvaluationFailed: The query cannot be parsed.
    """
    relations = {name: input_sql(catalog, each) for name, each in inputs.items()}
    try:
        return with_relations(sql, catalog, relations)
    except SqlglotError as error:
        raise EvaluationFailed(f"the query cannot be parsed: {error}") from error


def unsubstituted(sql: str) -> str:
    r"""A query in whose texts no session substitutes ``${...}``.

    Each reader of a view parses its query again, with its own settings. ``$\{`` means the same
    within a text, and is not a variable.
    """
    parts, end = [], 0
    for token in tokenize(sql, read="spark"):
        if token.token_type is TokenType.STRING:
            text = sql[token.start : token.end + 1]
            parts += [sql[end : token.start], text.replace("${", "$\\{")]
            end = token.end + 1
    return "".join([*parts, sql[end:]])


@contextmanager
def bound_rows(
    spark: SparkSession,
    catalog: str,
    rows: RowSource,
    inputs: Mapping[str, Input],
    columns: tuple[Column, ...],
    *,
    model: str,
) -> Iterator[DataFrame]:
    """The rows of a batch, lazily, as long as what they are made of is there."""
    match rows:
        case CsvRows():
            from vde_dagster.lakehouse.staging.declared_rows import typed_frame

            declared = columns or seed_columns(rows.text)
            yield typed_frame(spark, declared, seed_rows(rows.text, declared))
        case FrameRows():
            yield _frame_of(spark, rows.frame, columns, place=rows.place)
        case PythonRows():
            tables = {name: input_frame(spark, catalog, each) for name, each in inputs.items()}
            returned = python_frame(spark, rows, tables, columns, model=model)
            with analysed_once(spark, returned) as frame:
                yield frame
        case SqlRows():
            query = qualified(rows.sql, catalog, inputs)
            with analysed_once(spark, spark.sql(query)) as frame:
                yield frame
        case _:
            assert_never(rows)


@contextmanager
def failures(subject: str) -> Iterator[None]:
    """Turns Spark's errors into EvaluationFailed: the subject, and the line that helps."""
    try:
        yield
    except EvaluationFailed as error:
        if error.message.startswith(subject):
            raise
        raise error.within(subject) from error
    except Exception as error:
        # What a user's own function raised is theirs, whatever it says.
        found = fault_of(error) if not isinstance(error, PythonException) else None
        if found is not None:
            raise EvaluationFailed(f"{subject}: {found.message}", advice=found.advice) from error
        if not (isinstance(error, PySparkException) or type(error).__module__.startswith("py4j.")):
            raise
        raise failed(error).within(subject) from error


def failed(error: Exception) -> EvaluationFailed:
    """A Spark error as one of ours: the line that helps, and the part of the SQL that it names."""
    contexts = error.getQueryContext() if isinstance(error, PySparkException) else []
    parts = [each.fragment() for each in contexts if each.contextType() is QueryContextType.SQL]
    failure = EvaluationFailed(first_useful_line(error))
    failure.fragment = next(filter(None, parts), "")
    return failure


def first_useful_line(error: Exception) -> str:
    """The line of a Spark error that a person can act on: the innermost cause's first line."""
    if isinstance(error, PythonException):
        return _users_error(str(error))
    lines = [text for text in _messages(error) if text]
    useful = [text for text in lines if not text.startswith(_WRAPPERS)]
    line = (useful or lines or [type(error).__name__])[0]
    raised = _RAISED.fullmatch(line)
    return raised[1] if raised else line


def _users_error(text: str) -> str:
    """The last line of the traceback of a function that ran in a Python worker, and its place."""
    traceback_text = text.partition("Traceback (most recent call last):")[2] or text
    traceback_text = traceback_text.partition("JVM stacktrace")[0]
    lines = [line for line in traceback_text.splitlines() if line.strip()]
    places = [line.strip() for line in lines if line.startswith('  File "')]
    raised = [line for line in lines if re.match(r"[\w.]+(?::|$)", line)]
    what = raised[-1] if raised else "a Python function failed"
    return f"{what} ({places[-1]})" if places else what


def _messages(error: Exception) -> Iterator[str]:
    """First lines of an error and its causes: those with an error class of Spark's come first."""
    found: list[str] = []
    message = error.getMessage() if isinstance(error, PySparkException) else None
    found += (message or str(error)).splitlines()[:1]
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    for _ in range(12):
        if cause is None:
            break
        text = cause.getMessage()
        found += (text or "").splitlines()[:1]
        cause = cause.getCause()
    found += _causes_on_a_server(error)
    yield from (text.strip() for text in found if text.startswith("[") and "[INTERNAL" not in text)
    yield from (text.strip() for text in found)


def _causes_on_a_server(error: Exception) -> Iterator[str]:
    """First lines of the causes that an error of Spark Connect has: it has them as a text alone."""
    trace = error.getStackTrace() if hasattr(error, "getStackTrace") else None
    for line in (trace or "").splitlines():
        if line.startswith(_CAUSED_BY):  # and then the error's class and its message
            yield line.removeprefix(_CAUSED_BY).partition(": ")[2]


def python_frame(
    spark: SparkSession,
    rows: PythonRows,
    tables: Mapping[str, DataFrame],
    columns: tuple[Column, ...],
    *,
    model: str,
) -> DataFrame:
    """What a Python model's function returns for these tables.

    Raises:
        EvaluationFailed: The function failed, or returned something that is not a table.
    """
    context = ModelContext(
        _model=model,
        _tables={name.lower(): frame for name, frame in tables.items()},
        spark=spark,
        start=rows.interval.start,
        end=rows.interval.end,
        execution_time=rows.execution_time,
        variables=rows.variables,
    )
    try:
        with model_function(rows) as function:
            result = function(context)
    except EvaluationFailed:
        raise
    except (Exception, SystemExit) as error:  # whatever a user's function raises
        if lost_java(error) or (isinstance(error, PySparkException) and fault_of(error)):
            raise  # nothing that the function did
        _raise_users(error, rows)
    frame = _frame_of(spark, result, columns, place=rows.place)
    require_own_frame(spark, frame, place=rows.place)
    return frame


def _frame_of(
    spark: SparkSession, result: object, columns: tuple[Column, ...], *, place: str
) -> DataFrame:
    """What a user's code returned as a DataFrame, with the declared columns if it was none."""
    import pyarrow as pa

    if isinstance(result, DataFrame):
        return result
    is_pandas = _is_pandas(result)
    if not is_pandas and any(hasattr(result, f"__arrow_c_{how}__") for how in ("stream", "array")):
        result = pa.table(result)  # of Arrow itself, of polars, DuckDB, ...
    if is_pandas or isinstance(result, pa.Table):
        from vde_dagster.lakehouse.staging.declared_rows import declared_rows

        return declared_rows(spark, cast("pa.Table", result), columns, place=place)
    of = f"{type(result).__module__.partition('.')[0]}.{type(result).__qualname__}"
    raise EvaluationFailed(
        f"{place} returns {of.removeprefix('builtins.')}",
        advice="return a DataFrame of Spark, pandas or polars, or an Arrow table. Turn a list of "
        "rows into one with pd.DataFrame(rows).",
    )


def _is_pandas(result: object) -> bool:
    """Whether something is a pandas frame or of a subclass, found without importing pandas."""
    return any(
        each.__name__ == "DataFrame" and each.__module__.partition(".")[0] == "pandas"
        for each in type(result).__mro__
    )


def _raise_users(error: BaseException, rows: PythonRows) -> NoReturn:
    frames = [
        each for each in traceback.extract_tb(error.__traceback__) if each.filename == rows.path
    ]
    line = frames[-1].lineno if frames else getattr(error, "lineno", None)
    place = f"{rows.path}:{line}" if line else rows.path
    text = first_useful_line(error) if isinstance(error, PySparkException) else error_text(error)
    raise EvaluationFailed(f"{place}: {text}") from error
