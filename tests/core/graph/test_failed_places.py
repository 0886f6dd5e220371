"""Where in an author's file stands what an engine names of the text that it ran."""

from __future__ import annotations

from typing import Final

import pytest

from tests.app.memory_world import graph_of
from vde_dagster.core.graph.checks import place_of_failure
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName

FILE: Final = """MODEL (
  name m.broken, kind FULL, description 'amount / rate', columns (id bigint, share double)
);

-- amount / rate was asked for
SET spark.sql.ansi.enabled = true;

SELECT
  id,
  amount / rate AS share,
  cast(note AS int)  -- a note
    + cast(
    text AS int
  ) AS n,
  'cast(note AS int)' AS s
FROM raw.events
WHERE at < @end_ts AND note > '' AND note < 'x'
"""
RAN: Final = FILE.partition(";")[2].replace("raw.events", "`x`.`in_0`").replace("@end_ts", "T '1'")


def model_of(text: str, name: str = "broken") -> Model:
    more = {"rate": "bigint", "note": "string", "text": "string"}
    return graph_of({name: text}, files=None, **more)[ModelName("m", name)].model


def line(fragment: str, *ran: str, text: str = FILE) -> int:
    return place_of_failure(model_of(text), fragment, ran or (RAN,)).line


FIRST: Final = 9
"""The line of the query's first name, which stands for the query."""


@pytest.mark.parametrize(
    "fragment, at",
    [
        ("amount / rate", FIRST),  # a description and a comment have it, too
        ("amount / rate AS share", 10),
        ("cast(note AS int)", FIRST),  # a text has it, too
        ("cast(\n    text AS int\n  )", 12),
        ("spark.sql.ansi.enabled", 6),  # a statement in front of the query
        ("raw.events", FIRST),  # what ran has another name for it
        ("at < T '1'", FIRST),  # a macro
        ("note", FIRST),  # on two lines
        ("cast(", FIRST),
        ("no", FIRST),  # a part of a word
        ("'a text without an end", FIRST),
        ("", FIRST),
    ],
)
def test_the_line_is_that_of_the_fragment_or_of_the_query(fragment: str, at: int) -> None:
    assert line(fragment) == at


def test_a_fragment_that_may_be_of_a_view_in_the_query_has_the_line_of_the_query() -> None:
    ran = RAN.replace("`x`.`in_0`", "(SELECT amount / rate AS share FROM `x`.`in_0`)")
    assert line("amount / rate AS share", ran) == FIRST
    assert line("rate + 1", RAN) == FIRST  # an audit's query, or what a function ran


def test_what_ran_in_parts_is_looked_at_as_a_whole() -> None:
    before, query = "SET spark.sql.ansi.enabled = true", RAN.partition(";")[2]
    assert line("spark.sql.ansi.enabled", before, query) == 6
    assert line("amount / rate AS share", before, query) == 10
