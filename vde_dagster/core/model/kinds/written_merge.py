"""The parts of a merge that run as their author wrote them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenMerge:
    """Keys, clauses and the condition of a merge as their author wrote them (rule R13).

    Sides are called ``source`` and ``target``. Each is empty where there is none, and in other
    dialects than Spark's.
    """

    key: tuple[str, ...] = ()
    when_matched: str = ""
    merge_filter: str = ""
