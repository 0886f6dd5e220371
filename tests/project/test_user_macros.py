"""Macros in Python: loading their files, and calling them from models."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot

from vde_dagster.core.errors import Place
from vde_dagster.project.macros.files import UserMacro, load_user_macros
from vde_dagster.project.macros.language import MacroScope, Statements, read_statements
from vde_dagster.project.problems import Problems

PATH = "macros/m.py"
HEAD = "from sqlglot import exp\nfrom vde_dagster.project.macros.files import macro\n"
PLACE = Place(path=Path("models/m.sql"), line=3)

LIBRARY = (
    HEAD
    + """
import datetime
from decimal import Decimal
from typing import Optional

@macro()
def add(left, right):
    return exp.Add(this=left, expression=right)

@macro("Renamed")
def another(x: exp.Column):
    return x.as_("renamed")

@macro()
def text(name: str, times: int = 1):
    return f"count(*) * {times} AS {name}"

@macro()
def with_suffix(columns: list[str], *, suffix: str = "_s"):
    return [exp.column(each).as_(each + suffix) for each in columns]

@macro()
def kinds(a: int, b: float, c: bool, d: Optional[str] = None):
    return exp.Literal.string(f"{a!r} {b!r} {c!r} {d!r}")

@macro()
def every(*columns: str):
    for column in columns:
        yield exp.column(column)

@macro()
def numbers():
    return [1, 2.5, True, Decimal("1.10"), datetime.date(2024, 2, 29)]

@macro()
def nothing():
    return None

@macro()
def from_table(table: exp.Table):
    return exp.select("a").from_(table)

@macro()
def nested(column):
    return f"@add({column.sql('spark')}, @VAR('number')) + @start_hour"

@macro()
def same(x):
    return x

@macro()
def optional(x: int | str):
    return exp.Literal.string(type(x).__name__)

@macro()
def fails(x):
    return helper(x)

def helper(x):
    raise ValueError("too bad")

@macro()
def leaves():
    raise SystemExit(3)

@macro()
def dies():
    import os
    os._exit(3)

@macro()
def odd():
    return object()

@macro()
def broken():
    return "SELECT FROM WHERE"

@macro()
def hostile():
    return exp.to_identifier("x; drop table y")

@macro()
def endless():
    return "@endless()"
"""
)


VARIABLES = {"number": 7, "numbers": [1, 2], "word": "a"}


def read(
    text: str, files: dict[str, str] | None = None, dialect: str = "spark"
) -> tuple[Statements | None, list[str]]:
    functions, wrong = load_user_macros(files or {PATH: LIBRARY})
    assert wrong == ()
    problems = Problems()
    scope = MacroScope(variables=VARIABLES, functions=functions)
    found = read_statements(text, dialect=dialect, place=PLACE, scope=scope, problems=problems)
    return found, [str(each) for each in problems.found]


@pytest.mark.parametrize(
    "text,expected",
    [
        ("SELECT @add(a, 1) AS x", "SELECT a + 1 AS x"),
        ("SELECT @add(right := a, left := b) AS x", "SELECT b + a AS x"),
        ("SELECT @add(@add(a, b), @VAR('number')) AS x", "SELECT a + b + 7 AS x"),
        ("SELECT @add(@EACH([a, b], x -> x)) AS x", "SELECT a + b AS x"),
        ("SELECT @EACH([a, b], x -> @add(x, 1)) FROM t", "SELECT a + 1, b + 1 FROM t"),
        ("SELECT @renamed(t.a) FROM t", "SELECT t.a AS renamed FROM t"),
        ("SELECT @text(n) FROM t", "SELECT count(*) * 1 AS n FROM t"),
        ("SELECT @text('n', times := 3) FROM t", "SELECT count(*) * 3 AS n FROM t"),
        ("SELECT @with_suffix([a, b]) FROM t", "SELECT a AS a_s, b AS b_s FROM t"),
        ("SELECT @with_suffix((a, b), suffix := 'x')", "SELECT a AS ax, b AS bx"),
        ("SELECT @kinds(-1, 2, TRUE) AS x", "SELECT '-1 2.0 True None' AS x"),
        ("SELECT @kinds(1, 2.5, FALSE, b) AS x", "SELECT '1 2.5 False \\'b\\'' AS x"),
        ("SELECT @kinds(1, 2, TRUE, NULL) AS x", "SELECT '1 2.0 True None' AS x"),
        ("SELECT @every(a, 'b') FROM t", "SELECT a, b FROM t"),
        (
            "SELECT f(@numbers()) AS x",
            "SELECT f(1, 2.5, TRUE, 1.10, CAST('2024-02-29' AS DATE)) AS x",
        ),
        ("SELECT a, @nothing() FROM t", "SELECT a FROM t"),
        ("SELECT a FROM (@from_table(raw.t)) AS q", "SELECT a FROM (SELECT a FROM raw.t) AS q"),
        ("@from_table(t)", "SELECT a FROM t"),
        ("SELECT @nested(a) AS x", "SELECT (a + 7) + @start_hour AS x"),
        ("SELECT @same('@add(a)') AS x", "SELECT '@add(a)' AS x"),
        ("SELECT @same(raw.t) FROM @same(raw.t)", "SELECT raw.t FROM raw.t"),
        ("SELECT @optional(1) AS x, @optional('1') AS y", "SELECT 'int' AS x, 'str' AS y"),
        ("SELECT 1 AS @hostile()", "SELECT 1 AS `x; drop table y`"),
    ],
)
def test_a_call_gives_what_the_function_returns(text: str, expected: str) -> None:
    found, problems = read(text)
    assert problems == []
    assert found is not None
    assert [each.sql("spark") for each in found.expressions] == [
        sqlglot.parse_one(expected, read="spark").sql("spark")
    ]
    assert found.used_files == {PATH}


DIES = LIBRARY.splitlines().index("    os._exit(3)") + 1
RAISES = LIBRARY.splitlines().index('    raise ValueError("too bad")') + 1


@pytest.mark.parametrize(
    "text,message",
    [
        ("SELECT @add(a) AS x", "missing a required argument: 'right'"),
        ("SELECT @add(a, b, c) AS x", "too many positional arguments"),
        (
            "SELECT @text(n, 'many') AS x",
            "the argument 'times' of @text is a whole number, not 'many'",
        ),
        ("SELECT @text(n, 1.5) AS x", "'times' of @text is a whole number, not 1.5"),
        ("SELECT @text(a + 1) AS x", "'name' of @text is a text, not a + 1"),
        ("SELECT @with_suffix([a, 1 + 2]) AS x", "'columns' of @with_suffix is a text"),
        ("SELECT @kinds(1, 'x', TRUE) AS x", "'b' of @kinds is a number, not 'x'"),
        ("SELECT @kinds(1, 2, 'x') AS x", "'c' of @kinds is TRUE or FALSE, not 'x'"),
        ("SELECT @renamed(1) AS x", "'x' of @renamed is a Column of SQL, not 1"),
        ("SELECT @optional(a + 1) AS x", "'x' of @optional is a whole number or a text"),
        ("SELECT @add(a, x := @EACH([], y -> y)) AS x", "'x' of @add is not one expression"),
        (
            "SELECT @fails(a) AS x",
            f"the macro @fails failed at {PATH}:{RAISES}: ValueError: too bad",
        ),
        ("SELECT @leaves() AS x", "SystemExit: 3, which would end the whole process"),
        (
            "SELECT @dies() AS x",
            f"the macro @dies failed at {PATH}:{DIES}: ProcessEnded: os._exit(3), which would end",
        ),
        ("SELECT @odd() AS x", "a object, which SQL cannot express"),
        ("SELECT @broken() AS x", "returns invalid SQL"),
        ("SELECT @endless() AS x", "@endless calls itself"),
        ("SELECT @fail(a) AS x", "unknown macro @fail"),
    ],
)
def test_a_call_that_cannot_be_is_reported_with_the_place_of_the_model(
    text: str, message: str
) -> None:
    found, problems = read(f"-- first\n{text}")
    assert found is None
    (problem,) = problems
    assert problem.startswith("models/m.sql:4: ")
    assert message in problem
    assert "Traceback" not in problem


def test_only_the_files_that_were_called_are_used() -> None:
    files = {
        "macros/a.py": HEAD + "@macro()\ndef one():\n    return '@two()'\n",
        "macros/b.py": HEAD + "@macro()\ndef two():\n    return 2\n",
        "macros/c.py": HEAD + "@macro()\ndef three():\n    return 3\n",
    }
    found, problems = read("SELECT @one() AS x, @IF(FALSE, @three()) AS y", files)
    assert problems == []
    assert found is not None
    assert found.used_files == {"macros/a.py", "macros/b.py"}
    assert found.expressions[0].sql("spark") == "SELECT 2 AS x"


@pytest.mark.parametrize(
    "text,line,message",
    [
        ("def f(:\n", 1, "this is not valid Python"),
        ("\nimport pandas\n", 2, "cannot import 'pandas'"),
        ("from macros import other\n", 1, "cannot import 'macros'"),
        ("def f():\n    import os, dagster\n", 2, "cannot import 'dagster'"),
        (
            "import os\n\nraise ValueError('no')\n",
            3,
            "the module fails when it is imported: ValueError: no",
        ),
        (
            "import os\nos._exit(0)\n",
            2,
            "the module fails when it is imported: ProcessEnded: os._exit(0)",
        ),
        (HEAD + "@macro\ndef f(): pass\n", 3, "with parentheses"),
        (HEAD + "@macro('a b')\ndef f(): pass\n", 3, "'a b' is not a valid macro name"),
        (HEAD + "@macro('if')\ndef f(): pass\n", 3, "@if is a built-in macro"),
        (HEAD + "@macro()\ndef start_ds(): pass\n", 3, "@start_ds is a built-in macro"),
        (HEAD + "@macro('f')\ndef g(): pass\n@macro('F')\ndef h(): pass\n", 5, f"{PATH}:3"),
        (HEAD + "@macro()\ndef f(x: 'Nobody'): pass\n", 3, "its annotations cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported_with_its_line(
    text: str, line: int, message: str
) -> None:
    _, (problem,) = load_user_macros({PATH: text})
    assert str(problem).startswith(f"{PATH}:{line}: ")
    assert message in str(problem)


def test_two_files_cannot_have_the_same_macro() -> None:
    text = HEAD + "@macro()\ndef one(): return 1\n"
    macros, (problem,) = load_user_macros({"macros/b.py": text, "macros/a.py": text})
    assert str(problem).startswith("macros/b.py:3: the macro @one is also defined at macros/a.py:3")
    one = macros["one"]
    assert isinstance(one, UserMacro)
    assert one.path == "macros/a.py"


def test_a_file_is_run_once_for_each_text(tmp_path: Path) -> None:
    log = tmp_path / "log"
    text = f"open({str(log)!r}, 'a').write('x')\n"
    for _ in range(3):
        load_user_macros({PATH: text})
    assert log.read_text() == "x"
    load_user_macros({PATH: text + "# another\n"})
    assert log.read_text() == "xx"


ASKING = (
    HEAD
    + """
from vde_dagster import MacroEvaluator

@macro()
def clip(evaluator, column, low=0):
    return f"GREATEST({column.sql(evaluator.dialect)}, {low})"

@macro()
def first(_evaluator, *columns: str):
    return [exp.column(each) for each in columns][:1]

@macro()
def typed(asked: MacroEvaluator, name: str):
    return asked.var(name)

@macro()
def given(evaluator, name: str):
    return evaluator.var(name, "none")

@macro()
def listed(evaluator):
    return sum(evaluator.var("numbers"))

@macro()
def changing(evaluator):
    evaluator.var("numbers").append(100)
    return len(evaluator.var("numbers"))

@macro()
def defined(evaluator, name: str):
    return evaluator.locals[name]

@macro()
def maybe(evaluator, name: str):
    return evaluator.locals.get(name)

@macro()
def names(evaluator):
    return exp.Literal.string(",".join(evaluator.locals))

@macro()
def dialect(evaluator):
    return exp.Literal.string(evaluator.dialect)

@macro()
def late(evaluator):
    yield exp.column("a")
    yield evaluator.locals["low"]

@macro()
def asks(evaluator, name: str):
    return getattr(evaluator, name)("raw.t")

@macro()
def plain(column, evaluator):
    return column + evaluator
"""
)


def ask(text: str, dialect: str = "spark") -> tuple[Statements | None, list[str]]:
    return read(text, {PATH: ASKING}, dialect)


@pytest.mark.parametrize(
    "text,expected,variables",
    [
        ("SELECT @clip(a) AS x FROM t", "SELECT GREATEST(a, 0) AS x FROM t", set()),
        ("SELECT @clip(low := 1, column := a) AS x", "SELECT GREATEST(a, 1) AS x", set()),
        ("SELECT @clip(@clip(a, 1), 2) AS x", "SELECT GREATEST(GREATEST(a, 1), 2) AS x", set()),
        ("SELECT @first(a, b) FROM t", "SELECT a FROM t", set()),
        ("SELECT @typed('Number') AS x", "SELECT 7 AS x", {"number"}),
        ("SELECT @given('other') AS x", "SELECT none AS x", {"other"}),
        ("SELECT @listed() AS x", "SELECT 3 AS x", {"numbers"}),
        ("SELECT @changing() AS x", "SELECT 2 AS x", {"numbers"}),
        ("@DEF(Low, b + 1); SELECT @defined('LOW') AS x", "SELECT b + 1 AS x", set()),
        ("@DEF(low, @VAR('number')); SELECT @defined('low') AS x", "SELECT 7 AS x", {"number"}),
        ("SELECT a, @maybe('low') FROM t", "SELECT a FROM t", set()),
        (
            "@DEF(b, 1); @DEF(a, 2); @DEF(f, x -> x); SELECT @names() AS x",
            "SELECT 'a,b' AS x",
            set(),
        ),
        ("@DEF(low, 1); SELECT @late()", "SELECT a, 1", set()),
        ("SELECT @dialect() AS x", "SELECT 'spark' AS x", set()),
        ("SELECT @plain(a, b) AS x", "SELECT a + b AS x", set()),
    ],
)
def test_a_macro_that_takes_the_evaluator_gets_it_beside_its_arguments(
    text: str, expected: str, variables: set[str]
) -> None:
    found, problems = ask(text)
    assert problems == []
    assert found is not None
    assert [each.sql("spark") for each in found.expressions] == [
        sqlglot.parse_one(expected, read="spark").sql("spark")
    ]
    assert found.used_variables == variables


def test_the_evaluator_knows_the_dialect_of_the_text() -> None:
    found, _ = ask("SELECT @dialect() AS x", "snowflake")
    assert found is not None
    assert found.original == "SELECT 'snowflake' AS x"


@pytest.mark.parametrize(
    "text,message",
    [
        ("SELECT @clip(a, b, c) AS x", "Call it as @clip(column, low)."),
        ("SELECT @clip(a, evaluator := 1) AS x", "got an unexpected keyword argument"),
        ("SELECT @typed('other') AS x", "the variable 'other' is not declared"),
        ("SELECT @defined('other') AS x", "KeyError: 'other'"),
        ("SELECT @defined('start_ds') AS x", "`evaluator.locals` of 'start_ds' is not available"),
        ("SELECT @maybe('end_dt') AS x", "Return SQL for it: @start_ds"),
        ("SELECT @maybe('runtime_stage') AS x", "expanded when the project loads"),
        ("SELECT @asks('columns_to_types') AS x", "@STAR(relation) for columns"),
        ("SELECT @asks('engine_adapter') AS x", "`evaluator.engine_adapter` is not available"),
        ("@DEF(a, @b); @DEF(b, @a); SELECT @defined('a') AS x", "calls itself"),
    ],
)
def test_what_the_evaluator_does_not_have_is_an_error_that_says_so(text: str, message: str) -> None:
    found, problems = ask(text)
    assert found is None
    (problem,) = problems
    assert message in problem


def test_a_circle_through_a_function_and_a_definition_names_the_function_once() -> None:
    found, problems = ask("@DEF(a, @defined('a')); SELECT @defined('a') AS x")
    assert found is None
    (problem,) = problems
    assert problem.count("the macro @defined (") == 1
    assert "calls itself" in problem


@pytest.mark.parametrize("name", ["context", "_context", "ctx", "_"])
def test_a_first_parameter_of_other_tools_is_refused_with_the_signature(name: str) -> None:
    text = HEAD + f"@macro()\ndef clip({name}, column, low=0): return column\n"
    macros, (problem,) = load_user_macros({PATH: text})
    assert str(problem).startswith(
        f"{PATH}:3: the first parameter {name!r} looks like the evaluator"
    )
    assert "`def clip(column, low=0)`" in str(problem)
    assert "`def clip(evaluator, column, low=0)`" in str(problem)
    clip = macros["clip"]
    assert isinstance(clip, UserMacro)
    assert not clip.is_told
