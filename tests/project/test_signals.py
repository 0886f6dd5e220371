# ruff: noqa: E501 - rows of tables stay on one line
"""Signals: which units of a batch pass, what they are given, and what is reported of wrong ones."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from tests.project.headers import QUERY, python_text
from tests.project.test_loading import write
from vde_dagster.core.errors import EvaluationFailed, Problem, ProjectInvalid, Refused
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.loading import ProjectFiles, load_project
from vde_dagster.project.model_files import read_model
from vde_dagster.project.signals import load_signals, ready_intervals, value_of

DOCUMENT = Path(__file__).parents[2] / "docs/reference/models.md"
START = datetime(2024, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
UNITS = [Interval(START + n * DAY, START + (n + 1) * DAY) for n in range(4)]
NOW = datetime(2024, 1, 5, 6, 30, tzinfo=UTC)
HEAD = "import datetime\nfrom vde_dagster import signal\n\n"


def days(first: int, last: int) -> Interval:
    return Interval(START + first * DAY, START + last * DAY)


def model_with(signals: str, **files: str) -> Model:
    """m.x with signals, and files in signals/."""
    text = f"MODEL (name m.x, kind FULL, signals ({signals})); SELECT 1 AS a"
    attachments = {f"signals/{name}.py": HEAD + code for name, code in files.items()}
    source = ModelSource(
        path=Path("models/m/x.sql"),
        text=text,
        defaults=Defaults().as_texts(),
        attachments=attachments,
    )
    return read_model(source)


def asked(signals: str, code: str) -> tuple[Interval, ...]:
    return ready_intervals(model_with(signals, s=code), UNITS, execution_time=NOW)


@pytest.mark.parametrize(
    "answer,expected",
    [
        ("True", (days(0, 4),)),
        ("False", ()),
        ("[]", ()),
        ("batch", (days(0, 4),)),
        ("[batch[0], batch[3]]", (days(0, 1), days(3, 4))),
        ("(each for each in batch if each[0].day != 2)", (days(0, 1), days(2, 4))),
        ("[list(batch[1])]", (days(1, 2),)),
        ("[(s.astimezone(datetime.timezone(datetime.timedelta(hours=2))), e) for s, e in batch[:1]]", (days(0, 1),)),
    ],
)  # fmt: skip
def test_a_signal_lets_all_none_or_a_part_of_a_batch_pass(
    answer: str, expected: tuple[Interval, ...]
) -> None:
    assert asked("s", f"@signal()\ndef s(batch):\n    return {answer}\n") == expected


def test_the_example_of_the_documentation_lets_the_days_pass_that_are_marked(
    tmp_path: Path,
) -> None:
    section = DOCUMENT.read_text().split("## Signals")[1]
    code = section.split("```python\n")[1].split("```")[0]
    for day, name in (
        ("2024-01-01", "_SUCCESS"),
        ("2024-01-02", "part"),
        ("2024-01-03", "_SUCCESS"),
    ):
        (tmp_path / day).mkdir()
        (tmp_path / day / name).touch()
    assert asked(f"exported (folder := '{tmp_path}')", code) == (days(0, 1), days(2, 3))
    assert asked(f"exported (folder := '{tmp_path}', marker := 'part')", code) == (days(1, 2),)


def test_several_signals_pass_what_each_of_them_lets_pass_and_later_ones_are_asked_for_less() -> (
    None
):
    code = (
        "@signal()\ndef first(batch):\n    return batch[1:]\n"
        "@signal('Second')\ndef other(batch):\n"
        "    assert len(batch) == 3, batch\n    return batch[:2]\n"
        "@signal()\ndef never(batch):\n    return False\n"
        "@signal()\ndef unasked(batch):\n    raise AssertionError\n"
    )
    assert asked("first, SECOND", code) == (days(1, 3),)
    assert asked("never, unasked", code) == ()


def test_without_signals_or_units_nothing_is_asked() -> None:
    plain = read_model(
        ModelSource(
            path=Path("models/m/x.sql"), text="SELECT 1 AS a", defaults=Defaults().as_texts()
        )
    )
    assert ready_intervals(plain, UNITS, execution_time=NOW) == (days(0, 4),)
    broken = model_with("s", s="raise ValueError")
    assert ready_intervals(broken, (), execution_time=NOW) == ()


ARGUMENTS: list[tuple[str, object]] = [
    ("'s3://b/c'", "s3://b/c"),
    (r"'it\'s'", "it's"),
    ("1.5", Decimal("1.5")),
    ("-1.5", Decimal("-1.5")),
    ("true", True),
    ("null", None),
    ("name", "name"),
    ("('a', 2, null)", ["a", 2, None]),
    ("['a', (1, 2)]", ["a", [1, 2]]),
    ("('a')", ["a"]),
    ("lower('A')", "LOWER('A')"),
]


@pytest.mark.parametrize("written,expected", ARGUMENTS)
def test_arguments_come_as_python_values(written: str, expected: object) -> None:
    code = f"@signal()\ndef s(batch, *, x):\n    assert x == {expected!r}, repr(x)\n    assert type(x) is type({expected!r})\n    return True\n"
    code = "from decimal import Decimal\n" + code
    assert asked(f"s (x := {written})", code) == (days(0, 4),)
    (call,) = model_with(f"s (x := {written})").signals
    assert value_of(dict(call.arguments)["x"]) == expected


def test_a_signal_gets_the_execution_time_where_it_asks_for_it_and_aware_instants() -> None:
    code = (
        "@signal()\ndef s(batch, execution_time, hours=0):\n"
        "    end = execution_time - datetime.timedelta(hours=hours)\n"
        "    assert all(s.tzinfo is datetime.timezone.utc for s, e in batch)\n"
        "    return [(s, e) for s, e in batch if e <= end]\n"
    )
    assert asked("s", code) == (days(0, 4),)
    assert asked("s (hours := 6)", code) == (days(0, 4),)
    assert asked("s (hours := 7)", code) == (days(0, 3),)


FAILING: list[tuple[str, str, str]] = [
    ("s", "@signal()\ndef s(batch):\n    return 1 / 0\n", "s failed at signals/s.py:6: ZeroDivisionError: division by zero"),
    ("s", "@signal()\ndef s(batch):\n    raise SystemExit(3)\n", "s failed at signals/s.py:6: SystemExit: 3"),
    ("s", "@signal()\ndef s(batch):\n    return None\n", "s failed at signals/s.py:4: TypeError: a signal has to return True, False or pairs of its batch, not None"),
    ("s", "@signal()\ndef s(batch):\n    return ['ab']\n", "is not a pair of datetimes"),
    ("s", "@signal()\ndef s(batch):\n    return [batch[0][0]]\n", "TypeError"),
    ("s", "@signal()\ndef s(batch):\n    return [(batch[0][0], batch[0][1], 1)]\n", "ValueError"),
    ("s", "@signal()\ndef s(batch):\n    return [(batch[0][0], batch[1][1])]\n", "is not in the batch. Return True, False or pairs of the batch."),
    ("s", "@signal()\ndef s(batch):\n    return (1 / 0 for _ in batch)\n", "s failed at signals/s.py:6: ZeroDivisionError"),
    ("s (x := 1)", "@signal()\ndef s(batch):\n    return True\n", "unexpected keyword argument 'x'"),
    ("s", "@signal()\ndef s(batch, x):\n    return True\n", "missing 1 required positional argument: 'x'"),
]  # fmt: skip


@pytest.mark.parametrize("signals,code,words", FAILING, ids=[row[1] for row in FAILING])
def test_a_signal_that_fails_names_itself_its_line_and_its_model(
    signals: str, code: str, words: str
) -> None:
    with pytest.raises(EvaluationFailed) as caught:
        asked(signals, code)
    assert words in str(caught.value)
    assert str(caught.value).startswith("m.x: the signal s ")
    assert "signals/s.py" in str(caught.value)


def test_a_stored_model_whose_signal_is_not_there_is_refused_with_a_suggestion() -> None:
    with pytest.raises(Refused, match="m\\.x uses the signal redy, which no file in signals/ declares\\. Did you mean ready\\?"):  # fmt: skip
        asked("redy", "@signal()\ndef ready(batch):\n    return True\n")
    with pytest.raises(
        Refused, match="signals/s\\.py:4: the module fails when it is imported: ValueError"
    ):
        asked("s", "raise ValueError\n")


def problems_of(files: Mapping[str, str]) -> tuple[Problem, ...]:
    return load_signals(
        {f"signals/{name}.py": HEAD + code for name, code in files.items()}
    ).problems


@pytest.mark.parametrize(
    "code,line,words",
    [
        ("@signal\ndef s(batch): ...", 4, "with parentheses"),
        ("@signal('a b')\ndef s(batch): ...", 4, "'a b' is not a valid signal name"),
        ("def s(:", 4, "this is not valid Python"),
        ("(" * 5000, 4, "this is not valid Python"),
        ("1 / 0", 4, "ZeroDivisionError"),
        ("import no_such_module", 4, "no_such_module"),
        ("@signal()\ndef s(batch): ...\n@signal('S')\ndef t(batch): ...", 6, "the signal S is also declared at signals/a.py:4"),
    ],
)  # fmt: skip
def test_a_wrong_file_of_signals_is_a_problem_at_its_line(code: str, line: int, words: str) -> None:
    (problem,) = problems_of({"a": code})
    assert words in problem.message
    assert problem.place.path == Path("signals/a.py")
    assert problem.place.line == line or "(((" in code
    assert problem.advice


def test_a_signal_of_two_files_is_reported() -> None:
    code = "@signal()\ndef s(batch): ..."
    (problem,) = problems_of({"a": code, "b": code})
    assert str(problem.place) == "signals/b.py:4"
    assert "also declared at signals/a.py:4" in problem.message


# In a project

SIGNAL = HEAD + "@signal()\ndef ready(batch):\n    return True\n"
OTHER = HEAD + "@signal()\ndef other(batch):\n    return True\n"
SQL_MODEL = f"MODEL (name m.x, kind FULL,\nsignals (ready)); {QUERY}"
ORDERS = "- name: raw.orders\n  columns: {id: bigint, shop: string, amount: double, ts: timestamp, day: date}\n"


def load(folder: Path, files: Mapping[str, str]) -> ProjectFiles:
    return load_project(write(folder, {"external_models.yaml": ORDERS, **files}))


def x_of(files: ProjectFiles) -> Model:
    return files.graph[ModelName("m", "x")].model


@pytest.mark.parametrize(
    "path,text",
    [
        ("models/m/x.sql", SQL_MODEL),
        ("models/m/x.py", python_text({"signals": ["ready"]})),
        ("models/m/x.sql", "MODEL (name m.x, kind SEED (path 'x.csv'), signals ready)"),
    ],
    ids=["sql", "python", "seed"],
)
def test_a_model_is_stored_with_the_files_of_its_signals_and_no_others(
    tmp_path: Path, path: str, text: str
) -> None:
    signals = {"signals/a.py": SIGNAL, "signals/b/c.py": OTHER, "signals/_not.py": "1 / 0"}
    files = load(tmp_path, {**signals, path: text, "models/m/x.csv": "id\n1\n", "models/m/y.sql": "SELECT 1 AS a"})  # fmt: skip
    kept = {key for key in x_of(files).source.attachments if key.startswith("signals/")}
    assert kept == {"signals/a.py"}
    assert files.graph[ModelName("m", "y")].model.source.attachments == {}
    again = read_model(x_of(files).source)
    assert again == x_of(files)
    assert ready_intervals(again, UNITS, execution_time=NOW) == (days(0, 4),)


@pytest.mark.parametrize("path,text,line", [("models/m/x.sql", SQL_MODEL, 2), ("models/m/x.py", python_text({"signals": ["ready"]}), 7)])  # fmt: skip
def test_a_signal_that_no_file_declares_is_reported_at_its_line(
    tmp_path: Path, path: str, text: str, line: int
) -> None:
    for name, advice in (("rady", "Did you mean rady?"), (None, "Declare it in signals/.")):
        files = {f"signals/{name}.py": SIGNAL.replace("ready", name)} if name else {}
        with pytest.raises(ProjectInvalid) as caught:
            load(tmp_path / str(name), {**files, path: text})
        (problem,) = caught.value.problems
        assert "declares the signal ready" in problem.message
        assert (str(problem.place), advice in problem.advice) == (f"{path}:{line}", True)


def test_a_broken_file_of_signals_is_reported_once_and_its_models_are_not(tmp_path: Path) -> None:
    with pytest.raises(ProjectInvalid) as caught:
        load(tmp_path, {"signals/a.py": "def ready(", "models/m/x.sql": SQL_MODEL})
    assert [str(each.place) for each in caught.value.problems] == ["signals/a.py:1"]


def test_another_predicate_is_metadata_and_how_it_is_written_is_nothing(tmp_path: Path) -> None:
    texts = [SIGNAL, SIGNAL.replace("True", "False"), SIGNAL.replace("\n\n", "\n# comment\n\n\n")]
    first, other, same = (
        load(tmp_path / str(n), {"signals/a.py": text, "models/m/x.sql": SQL_MODEL})
        .graph[ModelName("m", "x")]
        .fingerprint
        for n, text in enumerate(texts)
    )
    assert first.data == other.data
    assert first.metadata != other.metadata
    assert first == same
