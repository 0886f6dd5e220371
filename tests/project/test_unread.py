"""All that is wrong in a project is told in the first round, and nothing that follows from it."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from vde_dagster.core.errors import Problem, ProjectInvalid
from vde_dagster.core.names import ModelName
from vde_dagster.project.loading import load_project
from vde_dagster.project.unread import Unread, declared_names

MACRO = "from vde_dagster import macro\n\n@macro()\ndef {name}(x):\n    return x\n"
SIGNAL = "from vde_dagster import signal\n\n@signal()\ndef {name}(batch):\n    return True\n"
PYTHON = """from vde_dagster import model

NAME = "shop.counted"

@model(NAME, columns={"a": "int"}, depends_on=["shop.first"])
def counted(context):
    return context.table("shop.first")
"""
PROJECT = {
    "vde.yaml": "name: shop\ndefaults:\n  start: 2024-01-01\nvariables:\n  most: 3\n",
    "external_models.yaml": "- name: raw.t\n  columns: {a: int, ts: timestamp}\n"
    "- name: raw.u\n  columns: {b: int}\n",
    "macros/same.py": MACRO.format(name="same"),
    "macros/other.py": MACRO.format(name="other"),
    "signals/ready.py": SIGNAL.format(name="ready"),
    "audits/small.sql": "AUDIT (name small);\nSELECT * FROM @this_model WHERE a > @most",
    "seeds/s.csv": "a\n1\n",
    "models/shop/s.sql": "MODEL (name shop.s, kind SEED (path '../../seeds/s.csv'), "
    "columns (a int));",
    "models/shop/first.sql": 'MODEL (name "shop"."first", kind FULL, audits (small));\n'
    "SELECT @same(a) AS a, ts\nFROM raw.t WHERE a < @most",
    "models/shop/second.sql": "MODEL (\n  name lake.shop.second, kind INCREMENTAL_BY_TIME_RANGE "
    "(time_column ts), signals (ready ())\n);\nSELECT @other(a) AS a, @same(ts) AS ts\n"
    "FROM shop.first WHERE ts BETWEEN @start_ts AND @end_ts",
    "models/shop/counted.py": PYTHON,
    "models/shop/third.sql": "MODEL (name shop.third, kind FULL, audits (not_null (columns := "
    "(b))));\nSELECT c.a, u.b\nFROM shop.counted AS c JOIN shop.s ON c.a = s.a\n"
    "JOIN raw.u AS u ON u.b = c.a JOIN shop.second AS x ON x.a = c.a",
}

FAULTS: dict[str, tuple[str, str, str]] = {
    "a source's type": ("external_models.yaml", "{b: int}", "{b: intt}"),
    "a macro's syntax": ("macros/same.py", "def same(x):", "def same(x:"),
    "a macro's encoding": ("macros/same.py", "return x", "return 'caf\xe9'"),
    "an audit's encoding": ("audits/small.sql", "WHERE a", "WHERE '\xe9' < '' AND a"),
    "a model's encoding": ("models/shop/second.sql", "FROM shop", "/* \xe9 */ FROM shop"),
    "a macro's import": ("macros/other.py", "import macro\n", "import macro\nimport sqlmesh\n"),
    "a signal's syntax": ("signals/ready.py", "return True", "return ("),
    "an audit's property": ("audits/small.sql", "name small", "name small, standalone true"),
    "an audit's name": ("audits/small.sql", "(name small)", "(name 'sm all')"),
    "a seed's row": ("seeds/s.csv", "1\n", "x\n"),
    "a seed's option": ("models/shop/s.sql", "s.csv')", "s.csv', batch_size 3)"),
    "a query's syntax": ("models/shop/first.sql", "FROM raw.t", "FROM FROM raw.t WHERE ("),
    "a query's column": ("models/shop/first.sql", "ts\nFROM", "ts, nope\nFROM"),
    "a query's two macros": ("models/shop/first.sql", "a < @most", "@foo(a) < @bar"),
    "a missing source": ("models/shop/first.sql", "FROM raw.t", "FROM raw.nowhere"),
    "an unknown property": ("models/shop/second.sql", "kind INC", "ownr 'me', kind INC"),
    "an unknown kind": ("models/shop/second.sql", "kind INCREMENTAL_BY_TIME_RANGE", "kind INCR"),
    "an unknown signal": ("models/shop/second.sql", "(ready ())", "(red ())"),
    "a Python model's import": ("models/shop/counted.py", "import model\n", "import modell\n"),
    "a Python model's type": ("models/shop/counted.py", '"int"', '"intt"'),
    "a column of a source": ("models/shop/third.sql", "u.b\nFROM", "u.b, u.nope\nFROM"),
    "an audit's column": ("models/shop/third.sql", "(b))", "(missing))"),
    "an unknown audit": ("models/shop/third.sql", "audits (", "audits (smal, "),
}
DEPENDENT = {
    ("a source's type", "a column of a source"),
    ("a macro's syntax", "a query's column"),
    ("a macro's syntax", "a missing source"),
    ("a macro's syntax", "a query's syntax"),
    ("a macro's encoding", "a query's column"),
    ("a macro's encoding", "a missing source"),
    ("a macro's encoding", "a query's syntax"),
    ("a seed's row", "a seed's option"),
}
"""The second of these is found with what is in the file of the first."""


def problems_of(folder: Path, *faults: str) -> set[Problem]:
    """All that loading the project says with these faults in it."""
    texts = dict(PROJECT)
    for fault in faults:
        path, old, new = FAULTS[fault]
        assert texts[path].count(old) == 1, (fault, texts[path])
        texts[path] = texts[path].replace(old, new)
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "latin-1")
    try:
        load_project(folder)
    except ProjectInvalid as error:
        return set(error.problems)
    return set()


def test_the_project_without_faults_has_no_problems(tmp_path: Path) -> None:
    assert problems_of(tmp_path) == set()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_at_its_file_alone(fault: str, tmp_path: Path) -> None:
    found = problems_of(tmp_path, fault)
    assert {each.place.path.as_posix() for each in found} == {FAULTS[fault][0]}, found
    assert len(found) == (2 if "two" in fault else 1), found
    assert all(each.advice for each in found)


@pytest.mark.full
def test_faults_of_two_files_are_all_told_in_the_first_round(tmp_path: Path) -> None:
    alone = {fault: problems_of(tmp_path, fault) for fault in FAULTS}
    wrong = {}
    for one, other in combinations(FAULTS, 2):
        if FAULTS[one][0] == FAULTS[other][0] or (one, other) in DEPENDENT:
            continue
        told = {(each.place, each.message) for each in problems_of(tmp_path, one, other)}
        wanted = {(each.place, each.message) for each in alone[one] | alone[other]}
        if told != wanted:
            wrong[one, other] = (wanted - told, told - wanted)
    assert not wrong


def test_a_wrong_header_hides_nothing_that_is_wrong_with_its_query(tmp_path: Path) -> None:
    header, query = "an unknown audit", "a column of a source"
    assert FAULTS[header][0] == FAULTS[query][0]
    alone = problems_of(tmp_path, header) | problems_of(tmp_path, query)
    assert problems_of(tmp_path, header, query) == alone


@pytest.mark.parametrize("broken", ["", "("])
def test_what_reads_through_a_broken_view_is_not_said_to_read_too_little(
    broken: str, tmp_path: Path
) -> None:
    files = {
        "view": f"MODEL (name shop.view, kind VIEW);\nSELECT a, ts FROM raw.t WHERE a > 0{broken}",
        "late": "MODEL (name shop.late, kind INCREMENTAL_BY_TIME_RANGE (time_column ts), late_data "
        "(mode stateful, sources ('raw.t|ts')));\nSELECT a, ts FROM shop.view\n"
        "WHERE ts BETWEEN @start_ts AND @end_ts",
    }
    (tmp_path / "models/shop").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / f"models/shop/{name}.sql").write_text(text)
    found = {each.place.path.name for each in problems_of(tmp_path)}
    assert found == ({"view.sql"} if broken else set())


def test_without_settings_nothing_is_said_of_the_models(tmp_path: Path) -> None:
    problems_of(tmp_path, "a query's two macros")
    (tmp_path / "vde.yaml").write_text("name: shop\nvariables: {most: 3\n")
    with pytest.raises(ProjectInvalid) as caught:
        load_project(tmp_path)
    assert [each.place.path.as_posix() for each in caught.value.problems] == ["vde.yaml"]


@pytest.mark.parametrize(
    "text, name, is_in",
    [
        ("MODEL (\n  name bronze.a,\n  kind FULL);", "bronze.a", True),
        ("MODEL (name @{customer}.orders, blueprints (...));", "acme.orders", True),
        ("MODEL (name @{customer}.orders);", "acme.items", False),
        ("MODEL (name @name, blueprints ((name := x.one), (name := x.two)));", "x.two", True),
        ('@model(\n    name="x.y",\n)\ndef f(): ...', "x.y", True),
        ('@model(f"{SCHEMA}.y")\ndef f(): ...', "any.y", True),
        ('TABLE = "x.y"\n@model(TABLE)\ndef f(): ...', "x.y", True),
        ("SELECT * FROM bronze.a", "bronze.a", False),
        ("SELECT name FROM t", "x.t", False),
    ],
)
def test_names_that_a_broken_file_declares(text: str, name: str, is_in: bool) -> None:
    unread = Unread()
    unread.add(Path("models/m/file.sql"), text)
    assert (ModelName.parse(name) in unread) is is_in
    assert ModelName.parse("m.file") in unread


def test_names_of_functions_in_a_broken_file() -> None:
    text = "@macro('Other')\ndef first(x:\n\nasync def second(): ..."
    assert {"other", "first", "second"} <= declared_names(text, Path("macros/m.py"))
