"""Keeping the history of rows (seed 001, *SCD Type 2*): the open rows are replaced in one commit.

Open and closed rows are in different partitions, hence in different files. So only the open rows
and those that were closed just now are written; files of older history are never written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql.types import MapType, VariantType
from sqlglot import exp

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.history import (
    SHARED_KEY,
    History,
    Sides,
    duplicate_keys,
    open_rows,
    shared_key,
    written_rows,
)
from vde_dagster.core.model.writes import AppendRows, KeepHistory
from vde_dagster.lakehouse.staging.evaluation import first_useful_line
from vde_dagster.lakehouse.staging.stored_values import contains, with_columns_of
from vde_dagster.lakehouse.writes.intervals import (
    Written,
    append_rows,
    changed_sum,
    exchanged,
    put,
    whole_sum,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from vde_dagster.lakehouse.staging.branch import Branch

_NAMED: Final = 5
"""How many duplicate keys a message names at most."""


def with_validity(frame: DataFrame, history: History) -> DataFrame:
    """The rows of a query with the columns that the history adds, which are NULL still."""
    added = [
        F.lit(None).cast(each.type).alias(each.name)
        for each in (history.valid_from, history.valid_to)
    ]
    return frame.select("*", *added)


def keep_history(branch: Branch, frame: DataFrame, write: KeepHistory) -> Written:
    """Close the rows that changed or are missing, and open new ones.

    The source is read once, and only keys and times of closed rows. The open rows are read once
    more, for the sum of what was replaced.

    Args:
        branch: Where to write.
        frame: The source's rows, as `with_validity` gives them.
        write: How the history is kept, and when it was asked for.

    Raises:
        EvaluationFailed: Two rows of the source have one key; the text names some keys. Or a column
            to compare is of a type whose values Spark does not compare.
    """
    before, loaded, history = branch.head, branch.loaded, write.history
    was_empty = branch.is_empty
    own = own_columns(frame, history)
    known = branch.staging.returned
    returned = [each for each in own if each.lower() in known] if known else own
    refuse_incomparable(frame, history.compared_among(returned))
    is_open = F.expr(open_rows(history).sql("spark"))
    were_open, were_closed = branch.rows().where(is_open), branch.rows().where(~is_open)
    with (
        branch.view(frame, "source") as source,
        branch.view(were_open, "open") as still_open,
        branch.view(were_closed, "closed") as closed,
    ):
        statement = written_rows(
            history,
            own,
            Sides(source=source.name, open=still_open.name, closed=closed.name),
            execution_time=write.execution_time,
            is_first=write.is_first,
            returned=returned,
        )
        rows = with_columns_of(branch.spark.sql(statement.sql("spark")), frame.schema)
        with _naming_shared_keys(branch, history, source):
            if before is None or was_empty:
                return append_rows(branch, rows, AppendRows(interval=write.interval))
            _, seen = put(branch, rows, lambda writer: writer.overwrite(is_open))
    if seen is None:
        change = changed_sum(branch, before)
    else:
        change = seen - whole_sum(were_open, branch.staging.algorithm)
    # Closed rows are only ever added, so no removed file is opened for them.
    just_closed = branch.inserted_since(before).where(~is_open)
    staged = branch.rows().where(is_open).unionByName(just_closed)
    return exchanged(branch, staged, write.interval, change, before=before, loaded=loaded)


def ends_history(branch: Branch) -> bool:
    """Whether a history that closes keys which are missing had open rows at the base, and has none.

    All open rows are written by each evaluation, so that its own files mostly answer that. Rows are
    looked at where they do not.
    """
    history = branch.staging.closing_history
    if history is None or branch.staging.base is None or branch.adds_null(history.valid_to.name):
        return False
    is_open = F.expr(open_rows(history).sql("spark"))
    if not branch.rows().where(is_open).isEmpty():
        return False
    return not branch.at(branch.staging.base).where(is_open).isEmpty()


def refuse_incomparable(frame: DataFrame, columns: Iterable[str]) -> None:
    """Refuse columns to compare whose values Spark does not compare.

    Raises:
        EvaluationFailed: There are such columns; all are named.
    """
    compared = {name.lower() for name in columns}
    found = [
        f"{each.name} ({each.dataType.simpleString()})"
        for each in frame.schema.fields
        if each.name.lower() in compared and contains(each.dataType, MapType, VariantType)
    ]
    if found:
        raise EvaluationFailed(
            f"Spark cannot compare values of {', '.join(found)}, so changes of them cannot be "
            "found",
            advice="Name other columns in `columns`, or compare a text, as in to_json(a_column) AS "
            "a_text",
        )


def own_columns(frame: DataFrame, history: History) -> list[str]:
    """The columns that the history does not add itself."""
    added = {history.valid_from.name.lower(), history.valid_to.name.lower()}
    return [name for name in frame.columns if name.lower() not in added]


@contextmanager
def _naming_shared_keys(branch: Branch, history: History, source: exp.Table) -> Iterator[None]:
    """Looks for more duplicate keys if a write failed for one; only then reads the source again."""
    try:
        yield
    except Exception as error:
        if SHARED_KEY not in first_useful_line(error):
            raise
        query = duplicate_keys(history, source.name, limit=_NAMED + 1)
        keys = [row["key"] for row in branch.spark.sql(query.sql("spark")).collect()]
        if not keys:  # the source returned other rows this time
            raise
        raise EvaluationFailed(shared_key(history, keys, limit=_NAMED)) from error
