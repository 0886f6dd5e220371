"""D-SHAs on Spark: each row is hashed, and the hashes of many rows are summed exactly.

There are two ways to the same sums:

- `observed` takes them while the rows are written, in the same job. If Spark runs a part of that
  job twice, other rows were counted than committed (`Figures.sums`; of several parts, together).
- `row_sums` reads the staged rows again, and can sum groups of rows separately.
"""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses

from vde_dagster.core.ledger.dsha import ALGORITHMS, MODULUS, MURMUR3_128, RowSum, total
from vde_dagster.lakehouse.digest import native
from vde_dagster.lakehouse.iceberg.tables import quoted
from vde_dagster.lakehouse.spark.connect import is_remote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_LIMB: Final = 1 << 32
_MOST_SECONDS: Final = 60.0
_HALF_LIMB: Final = 1 << 31
_SUMS: Final = "sums"


def row_sums(
    frame: DataFrame, algorithm: str, group: Column | None = None, *, apart: Collection[str] = ()
) -> Mapping[object, RowSum]:
    """The sums of all rows of a frame, or of each group of rows, in one Spark job.

    Args:
        frame: The rows, with a table's columns. All columns count, in order, except ``apart``.
        algorithm: One of `vde_dagster.core.ledger.dsha.ALGORITHMS`.
        group: What to group by. Without it there is one sum, under the key None.
        apart: Columns that are not part of the rows, and that ``group`` may look at.

    Raises:
        ValueError: There is no such algorithm.
    """
    _require_known(algorithm)
    if algorithm == MURMUR3_128:
        from vde_dagster.lakehouse.digest.murmur import murmur_sums

        return murmur_sums(frame, group, apart=apart)
    upper, lower = native.halves(frame, apart=apart)
    key = (F.lit(None).cast("bigint") if group is None else group).alias("key")
    hashed = frame.select(key, upper.alias("upper"), lower.alias("lower"))
    grouped = hashed.groupBy("key").agg(F.expr(f"{_sums('upper', 'lower')} AS {_SUMS}"))
    found = {row["key"]: _row_sum(row[_SUMS].asDict()) for row in grouped.collect()}
    return found or ({None: RowSum()} if group is None else {})


class Figures:
    """Aggregates of the rows that passed by while they were written, by name."""

    def __init__(self, observation: Observation) -> None:
        self._observation = observation

    def found(self) -> Mapping[str, Any] | None:
        """What was observed; None if Spark does not report it in time. Without rows it may be {}.

        The figures come with an event, and Spark drops events when it has too many of them. Call
        this after the write returned, never after one that failed: it would wait in vain.
        """
        figures: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
        asking = threading.Thread(target=lambda: figures.put(self._observation.get), daemon=True)
        asking.start()
        try:
            return figures.get(timeout=_MOST_SECONDS)
        except queue.Empty:
            return None

    def taken(self) -> tuple[RowSum, ...] | None:
        """The sum of each group of rows that passed by, without rows perhaps of none.

        None if Spark does not report them in time.
        """
        figures = self.found()
        if figures is None:
            return None
        return tuple(_row_sum(each.asDict()) for each in figures.get(_SUMS, ()))

    def sums(self, committed_rows: int) -> Mapping[object, RowSum] | None:
        """The sum of all rows, under the key None; or None if other rows were committed.

        In that case use `row_sums` over what was committed.

        Args:
            committed_rows: How many rows the commit added, as its Iceberg snapshot's summary says.
        """
        taken = self.taken()
        found = None if taken is None else total(taken)
        return {None: found} if found is not None and found.rows == committed_rows else None


def observed(
    frame: DataFrame, algorithm: str, groups: Sequence[str] = ()
) -> tuple[DataFrame, Figures]:
    """The same rows, and an object that has their sums once they are written.

    Spark may run a part of a plan twice: what feeds a range distribution (``WRITE ORDERED BY``), a
    failed stage, a second action. The count of rows shows it.

    Args:
        frame: The rows, with exactly the table's columns and types, in order: a value that Spark
            casts while writing is hashed as it was before the cast.
        algorithm: One of `vde_dagster.core.ledger.dsha.ALGORITHMS`.
        groups: What rows have a sum of their own, as conditions in SQL of which a row meets one:
            each takes every row some more time. Without them all rows have one sum.

    Raises:
        ValueError: There is no such algorithm.
    """
    # An observation is not compiled and would compute each half several times: so the halves are
    # computed as columns before it, and dropped after it.
    upper, lower, group = (f"{of} {uuid.uuid4().hex}" for of in ("upper", "lower", "group"))
    columns = dict(zip((upper, lower), _halves(frame, algorithm), strict=True))
    sums = [_sums(quoted(upper), quoted(lower))]
    if groups:
        numbers = range(len(groups))
        cases = (f"WHEN {each} THEN {at}" for at, each in zip(numbers, groups, strict=True))
        columns[group] = F.expr(f"CASE {' '.join(cases)} END")
        own = [f"{quoted(group)} = {at}" for at in numbers]
        sums = [_sums(quoted(upper), quoted(lower), where=each) for each in own]
    listed = F.expr(f"array({', '.join(sums)}) AS {_SUMS}")
    seen, figures = watched(frame.withColumns(columns), listed)
    return seen.drop(*columns), figures


def watched(frame: DataFrame, *figures: Column) -> tuple[DataFrame, Figures]:
    """The same rows, and an object that has these aggregates of them once they are written."""
    observation = Observation()
    if is_remote(frame):  # Spark Connect has a class of its own
        from pyspark.sql.connect.observation import Observation as RemoteObservation

        observation = cast("Observation", RemoteObservation())
    return frame.observe(observation, *figures), Figures(observation)


def _halves(frame: DataFrame, algorithm: str) -> tuple[Column, Column]:
    """The upper and the lower 64 bits of each row's hash, as columns of type bigint."""
    _require_known(algorithm)
    if algorithm == MURMUR3_128:
        from vde_dagster.lakehouse.digest import murmur

        return murmur.halves(frame)
    return native.halves(frame)


def _require_known(algorithm: str) -> None:
    if algorithm not in ALGORITHMS:
        raise ValueError(f"rows cannot be hashed with {algorithm}")


def _sums(upper: str, lower: str, *, where: str = "") -> str:
    """The number of rows, and the sums of four limbs of 32 bits, from the highest to the lowest.

    Limbs are summed around zero. So a sum of bigints, which Spark checks for overflow, fails only
    past 2**32 rows in one group, and never wraps around. They are one value, written as SQL: each
    column takes several calls of the JVM, and one made of functions a hundred.

    Args:
        upper: The quoted column of the upper 64 bits.
        lower: That of the lower ones.
        where: Which rows count; empty for all.
    """

    def counted(value: object) -> str:
        return f"IF({where}, {value}, NULL)" if where else f"{value}"

    limbs = [
        f"{limb} - {_HALF_LIMB}L"
        for half in (upper, lower)
        for limb in (f"shiftrightunsigned({half}, 32)", f"({half} & {_LIMB - 1}L)")
    ]
    sums = ", ".join(f"sum({counted(limb)}) AS limb{at}" for at, limb in enumerate(limbs))
    return f"struct(count({counted(1)}) AS rows, {sums})"


def _row_sum(row: Mapping[str, int | None]) -> RowSum:
    rows = row["rows"] or 0
    found = 0
    for number in range(4):
        found = found * _LIMB + (row[f"limb{number}"] or 0) + rows * _HALF_LIMB
    return RowSum(rows=rows, sum=found % MODULUS)
