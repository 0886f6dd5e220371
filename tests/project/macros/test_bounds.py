"""A few lines of macros that multiply each other end with a sentence, after a bounded number."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot

from vde_dagster.core.errors import Place
from vde_dagster.project.macros.expansion import Expander
from vde_dagster.project.macros.files import load_user_macros
from vde_dagster.project.macros.language import MacroScope, read_statements
from vde_dagster.project.macros.tokens import MOST_PARTS
from vde_dagster.project.problems import Problems

PLACE = Place(path=Path("models/m.sql"), line=3)
MOST = 10_000
"""The bound of these tests, so that reaching it costs little."""
PATH = "macros/m.py"
LIBRARY = """
from vde_dagster.project.macros.files import macro

@macro()
def twice(x):
    return f"{x.sql()} + {x.sql()}"

@macro()
def endless():
    while True:
        yield 1
"""
NUMBERS = ", ".join(map(str, range(1_000)))


def nested(call: str, times: int) -> str:
    return f"{call}(" * times + "a" + ")" * times


MILLION = f"SELECT\n@EACH([{NUMBERS}], x ->\n@EACH([{NUMBERS}], y -> x * y))\nFROM t"
TEXTS = {
    "an @EACH in another one": (MILLION, 5),
    "a @DEF that doubles its argument": (
        f"@DEF(d, x -> x + x);\nSELECT {nested('@d', 30)} AS y FROM t",
        4,
    ),
    "definitions that call each other twice": (
        "".join(f"@DEF(d{n}, @d{n - 1} + @d{n - 1});\n" for n in range(1, 31)).replace("@d0", "a")
        + "SELECT @d30 AS y FROM t",
        None,
    ),
    "a variable with many values, many times": (
        f"SELECT @EACH([{NUMBERS}], x -> x IN (@EACH(@many, y -> y))) FROM t",
        3,
    ),
    "a list of many values": (f"SELECT 1 AS a\nFROM t WHERE b IN ({', '.join([NUMBERS] * 6)})", 3),
    "a macro in Python that doubles its argument": (
        f"SELECT {nested('@twice', 30)} AS y FROM t",
        3,
    ),
}


def read(text: str, most: int = MOST) -> list[str]:
    functions, wrong = load_user_macros({PATH: LIBRARY})
    assert wrong == ()
    problems = Problems()
    scope = MacroScope(variables={"many": [*range(900)]}, functions=functions, most_parts=most)
    read_statements(text, dialect="spark", place=PLACE, scope=scope, problems=problems)
    return [str(each) for each in problems.found]


@pytest.mark.full
@pytest.mark.parametrize("text,line", TEXTS.values(), ids=TEXTS)
def test_statements_that_multiply_are_refused_with_their_place(text: str, line: int | None) -> None:
    problem = read(text)[0]
    assert problem.startswith(f"models/m.sql:{line or ''}")
    assert ": the statements of this model have more than " in problem
    assert f"{MOST:,} words and signs once macros are expanded" in problem
    assert "Put the values into a seed or a table, and join it." in problem


def test_no_more_is_done_than_the_bound_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """10^6 expressions would take minutes; each expansion costs at least one part of the bound."""
    calls = 0
    expand = Expander.expand

    def counted(*given: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        return expand(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Expander, "expand", counted)
    assert len(read(MILLION)) == 1
    assert calls <= MOST + 1


def test_an_endless_macro_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vde_dagster.project.macros.user.MOST_PARTS", 50)
    (problem,) = read("SELECT @endless() AS x")
    said = f"the macro @endless ({PATH}:8) returns more than 50 expressions"
    assert problem.startswith(f"models/m.sql:3: {said}")


@pytest.mark.full
def test_a_large_model_is_within_the_bound() -> None:
    """A thousand columns in two steps, each with its cast and its name."""
    cast = "CAST(x AS BIGINT) AS @{x}_n"
    names = ", ".join(f"c{number}" for number in range(1_000))
    text = f"WITH w AS (SELECT @EACH([{names}], x -> {cast}) FROM t) SELECT * FROM w"
    functions, _ = load_user_macros({})
    problems = Problems()
    scope = MacroScope(variables={}, functions=functions)
    found = read_statements(text, dialect="spark", place=PLACE, scope=scope, problems=problems)
    assert problems.found == []
    assert found is not None
    assert len(found.expressions[0].sql("spark")) > 20_000
    assert len(sqlglot.tokenize(text)) * 10 < MOST_PARTS
