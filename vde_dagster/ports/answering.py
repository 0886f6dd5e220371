"""Answering questions over given rows, without a table of a catalog."""

from __future__ import annotations

from typing import Protocol

from vde_dagster.core.unit_tests.comparison import Answer
from vde_dagster.core.unit_tests.question import Question


class Answering(Protocol):
    """Answers questions over given rows, each for itself; nothing is written."""

    def answer(self, question: Question, *, subject: str) -> Answer | None:
        """The rows that a query or function returns over given rows, as Spark would return them.

        None if that is not known of this adapter: then another one has to be asked.

        Args:
            question: What to compute.
            subject: What fails, for messages.

        Raises:
            EvaluationFailed: The query or function failed.
        """
        ...
