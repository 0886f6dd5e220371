# ruff: noqa: E501 - rows of tables stay on one line
"""Python models: the decorator's arguments, the places of its problems, the stored variables."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tests.project.headers import PYTHON, python_model, python_text, read, refused
from tests.project.test_loading import write
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.fingerprint import data_parts, metadata_parts
from vde_dagster.core.model.model import Model, ModelSource, PythonFunction, Query
from vde_dagster.core.names import ModelName
from vde_dagster.project.loading import load_project
from vde_dagster.project.model_files import read_model
from vde_dagster.project.properties.known_properties import PROPERTIES
from vde_dagster.project.python_models import model
from vde_dagster.project.signals import value_of
from vde_dagster.state.codec import decode_source, encode

ORDERS = "- name: raw.orders\n  columns: {id: bigint, ts: timestamp}\n"
X = ModelName("m", "x")


def test_the_decorator_has_every_property_as_an_argument() -> None:
    parameters = set(inspect.signature(model).parameters)
    assert parameters == {*PROPERTIES, "others"}


def test_what_is_none_or_empty_is_as_if_it_were_not_given() -> None:
    given = dict.fromkeys(
        ("cron", "cron_tz", "start", "end", "owner", "late_data", "enabled", "physical_properties")
    )
    empty = dict.fromkeys(("tags", "grain", "grains", "references", "audits", "signals"), ())
    bare, full = python_model({}), python_model({**given, **empty})
    assert full.owner == full.description == ""
    assert (full.tags, full.audits, full.start, full.end) == ((), (), bare.start, None)
    assert full.enabled


@pytest.mark.parametrize(
    "one,other",
    [
        ({"tags": ["a", "b"]}, {"tags": ("a", "b")}),
        ({"grain": "id"}, {"grain": ["id"]}),
        ({"kind": "INCREMENTAL_UNMANAGED"}, {"kind": {"name": "INCREMENTAL_UNMANAGED"}}),
        ({"kind": "INCREMENTAL_UNMANAGED (forward_only false)"}, {"kind": {"name": "INCREMENTAL_UNMANAGED", "forward_only": False}}),
        ({"audits": [("number_of_rows", {"threshold": 1})]}, {"audits": [{"name": "number_of_rows", "threshold": 1}]}),
        ({"audits": [("number_of_rows", {"threshold": "1"})]}, {"audits": [("number_of_rows", {"threshold": 1})]}),
        ({"signals": ["a", "b"]}, {"signals": [("a", {}), {"name": "b"}]}),
        ({"start": "2024-01-31"}, {"start": date(2024, 1, 31)}),
        ({"start": "2024-01-31 06:30"}, {"start": datetime(2024, 1, 31, 6, 30, tzinfo=UTC)}),
        ({"columns": {"id": "long"}}, {"columns": {"ID": "BIGINT"}}),
        ({"depends_on": ["raw.orders"]}, {"depends_on": {"raw.orders": None}}),
    ],
    ids=str,
)  # fmt: skip
def test_two_forms_of_one_argument_are_one_value(
    one: Mapping[str, object], other: Mapping[str, object]
) -> None:
    first, second = python_model(one), python_model(other)
    assert replace(second, source=first.source, body=first.body, place=first.place) == first


HOSTILE: list[tuple[str, int, str]] = [
    ("model = 5", 1, "0 functions of this module have the @model decorator"),
    ("from vde_dagster import model\nfor n in 'ab':\n    model('m.' + n, columns={'a': 'int'})(lambda c: None)", 1, "0 functions"),
    (python_text({}) + python_text({}).replace("def x", "def y"), 1, "2 functions of this module"),
    ("from vde_dagster import model\n\n@model('m.x', columns={'a': 'int'})\n@model('m.y', columns={'a': 'int'})\ndef x(c): ...", 3, "x has the @model decorator more than once"),
    ("from vde_dagster import model\n@model\ndef x(c): ...", 2, "TypeError: write @model('schema.name', ...), with parentheses"),
    ("from vde_dagster import model\n@model(\n  columns={'a': 'int'})\ndef x(c): ...", 2, "the model has no name"),
    ("from vde_dagster import model\n@model('m.x')\ndef x(c): ...", 2, "a Python model has to declare its columns"),
    ("from vde_dagster import model\n@model('m.x', 'FULL', columns={})\ndef x(c): ...", 2, "positional argument"),
    ("from vde_dagster import model\n@model('m x', columns={'a': 'int'})\ndef x(c): ...", 2, "'m x' in the name 'm x' is not a plain identifier"),
    ("from vde_dagster import model\n@model('a__b.x', columns={'a': 'int'})\ndef x(c): ...", 2, "double underscore"),
    ("from vde_dagster import model\n@model('m.x', columns=['a'])\ndef x(c): ...", 2, "the column 'a' has no type"),
    ("from vde_dagster import model\n@model('m.x', columns={1: 'int'})\ndef x(c): ...", 2, "1 is not an option name"),
    ("from vde_dagster import model\n@model('m.x', columns={'a': 'int'},\n  owner=object())\ndef x(c): ...", 3, "the argument 'owner' cannot be used"),
    ("from vde_dagster import model\n@model('m.x', columns={'a': 'int'},\n  **{'ownr': 1})\ndef x(c): ...", 2, "unknown property 'ownr'"),
    ("from vde_dagster import model\nd = model('m.x', columns={'a': 'int'}, ownr=1)\n@d\ndef x(c): ...", 3, "unknown property 'ownr'"),
    ("import nothing_of_this_name\n", 1, "No module named 'nothing_of_this_name'"),
    ("from my_project.models import other\n", 1, "No module named 'my_project'"),
    ("x = 1\n\nraise KeyboardInterrupt if False else ValueError('told')\n", 3, "ValueError: told"),
]  # fmt: skip


@pytest.mark.parametrize("text,line,words", HOSTILE, ids=[row[0][-60:] for row in HOSTILE])
def test_a_wrong_module_is_one_problem_at_its_line(text: str, line: int, words: str) -> None:
    (problem,) = refused(text, PYTHON)
    assert words in problem.message
    assert problem.place.line == line


def test_endless_lists_and_values_that_contain_themselves_are_reported() -> None:
    own = "from vde_dagster import model\na = []\na.append(a)\n@model('m.x', columns={'a': 'int'}, tags=a)\ndef x(c): ..."
    (problem,) = refused(own, PYTHON)
    assert "nested too deeply" in problem.message


def test_several_problems_of_a_header_are_reported_at_once_each_at_its_line() -> None:
    found = refused(
        python_text({"ownr": 1, "cron": "often", "start": "soon", "kind": "FULLL"}), PYTHON
    )
    assert [each.place.line for each in found] == [7, 8, 9, 10]


def test_a_misspelled_required_argument_does_not_hide_the_other_problems_of_a_header() -> None:
    text = (
        "from vde_dagster import model\n\n@model('a.p', colums={'a': 'int'},\n"
        "    cron='often',\n    kind='FULLL')\ndef p(context): ...\n"
    )
    found = [(each.place.line, each.message, each.advice) for each in refused(text, PYTHON)]
    assert [line for line, _, _ in found] == [3, 3, 4, 5]
    assert found[0][1] == "unknown property 'colums'"
    assert found[0][2].startswith("Did you mean columns?")
    assert found[1][1] == "a Python model has to declare its columns"


CALLED: list[tuple[str, str]] = [
    ("def p(): ...", "p cannot be called with only the context: too many positional arguments"),
    ("async def p(context): ...", "p is async"),
    ("def p(context):\n    yield 1", "p has a `yield` in it"),
    ("class P:\n    def __init__(self, context): ...", "P is not a function"),
    ("def p(context, start): ...", "missing a required argument: 'start'"),
    ("@wrapped\ndef p(context, start): ...", ""),
    ("def p(context): ...", ""),
    ("def p(*context): ...", ""),
    ("def p(context, digits=2, *, strict=True): ...", ""),
    ("p = lambda: None", "p cannot be called with only the context"),
    ("p = partial(lambda a, context: None, 1)", ""),
]  # fmt: skip


@pytest.mark.parametrize("code,words", CALLED, ids=[row[0] for row in CALLED])
def test_a_model_is_a_function_that_can_be_called_with_the_context_alone(
    code: str, words: str
) -> None:
    text = (
        "from functools import partial, wraps\nfrom vde_dagster import model\n"
        "def wrapped(f):\n    @wraps(f)\n    def call(*all): return f(*all, 1)\n    return call\n"
        "header = model('m.x', columns={'a': 'int'})\n"
    )
    text += f"p = header({code[4:]})\n" if code.startswith("p = ") else f"@header\n{code}\n"
    if not words:
        assert read(text, PYTHON).name == X
        return
    (problem,) = refused(text, PYTHON)
    assert words in problem.message
    assert "start, end and execution_time are attributes of the context" in problem.advice


@pytest.mark.parametrize(
    "text",
    ["it's", "''", "a\\'b", "-- no comment", "/* none */", "{{ jinja }}", "a\nb", "ünï", "\t"],
)
def test_any_text_is_the_text_that_it_is(text: str) -> None:
    found = python_model({"owner": text, "signals": [("s", {"path": text})]})
    assert found.owner == text
    (call,) = found.signals
    assert value_of(dict(call.arguments)["path"]) == text


# Variables


def graph_with(folder: Path, text: str, variables: str) -> Graph:
    files: dict[str, str | bytes] = {
        "vde.yaml": f"name: shop\nvariables: {variables}\n",
        "external_models.yaml": ORDERS,
        "models/m/x.py": text,
    }
    return load_project(write(folder, files)).graph


def variables_of(found: Model) -> dict[str, object]:
    assert isinstance(found.body, PythonFunction)
    return dict(found.body.variables)


def module(body: str, parameter: str = "context") -> str:
    return (
        "from vde_dagster import model\n\n"
        "@model('m.x', columns={'id': 'bigint'}, depends_on=['raw.orders'])\n"
        f"def x({parameter}):\n    {body}\n    return {parameter}.table('raw.orders')\n"
    )


VARIABLES = "{a: 1, b: [x, 2, null], c: 1.5, e: 'yes', F: true, g: []}"
EVERY = {"a": 1, "b": ["x", 2, None], "c": 1.5, "e": "yes", "f": True, "g": []}


@pytest.mark.parametrize(
    "body,used",
    [
        ("pass", ()),
        ("context.var('a')", ("a",)),
        ("context.var('f') or context.var('g')", ("f", "g")),
        ("context.var('a', 5), context.var('zz', 5)", ("a",)),
        ("context.var('zz', default=5)", ()),
        ("context.variables['a']", tuple(EVERY)),
        ("[1].var('zz') if False else 0", ()),
        ("(lambda c: c.var('b'))(context)", ("b",)),
    ],
)
def test_a_model_is_stored_with_the_variables_that_it_reads(
    tmp_path: Path, body: str, used: tuple[str, ...]
) -> None:
    found = graph_with(tmp_path, module(body), VARIABLES)[X].model
    assert variables_of(found) == {key: EVERY[key] for key in used}
    stored = json.loads(found.source.defaults.get("variables", "{}"))
    assert stored == variables_of(found)
    again = read_model(decode_source(encode(ModelSource, found.source)))
    assert again == found


def test_a_variable_counts_in_the_data_of_models_that_read_it_alone(tmp_path: Path) -> None:
    prints = {}
    for variables in ("{a: 1, b: 1}", "{a: 2, b: 1}", "{a: 1, b: 2}"):
        folder = tmp_path / variables[4:5] / variables[10:11]
        prints[variables] = graph_with(folder, module("context.var('a')"), variables)[X].fingerprint
    assert prints["{a: 1, b: 1}"] == prints["{a: 1, b: 2}"]
    assert prints["{a: 1, b: 1}"].data != prints["{a: 2, b: 1}"].data


@pytest.mark.parametrize("parameter", ["context", "ctx"])
def test_a_variable_that_the_project_lacks_is_reported_at_its_line(
    tmp_path: Path, parameter: str
) -> None:
    for variables, advice in (
        ("{minimum: 1}", "Did you mean minimum?"),
        ("{}", "Declare it under"),
    ):
        with pytest.raises(ProjectInvalid) as caught:
            graph_with(
                tmp_path / variables, module(f"{parameter}.var('minimun')", parameter), variables
            )
        (problem,) = caught.value.problems
        assert problem.message == "the variable 'minimun' is not declared"
        assert (str(problem.place), advice in problem.advice) == ("models/m/x.py:5", True)


# Stored and read again


def test_a_python_model_is_read_back_as_it_was() -> None:
    found = python_model(
        {
            "kind": {"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "ts", "lookback": 2},
            "depends_on": {"raw.orders": {"before": "1 day"}},
            "audits": [("not_null", {"columns": ["id"]})],
            "start": "2024-01-31",
        }
    )
    assert read_model(found.source) == found
    assert read_model(decode_source(encode(ModelSource, found.source))) == found


def test_the_header_is_no_part_of_the_code(tmp_path: Path) -> None:
    one = graph_with(tmp_path / "a", module("pass"), "{}")[X].fingerprint
    other = graph_with(tmp_path / "b", module("pass").replace("@model('m.x', ", "@model('m.x',\n    owner='me', "), "{}")[X].fingerprint  # fmt: skip
    assert one.data == other.data
    assert one.metadata != other.metadata


def test_a_module_may_have_dataclasses_and_leaves_nothing_behind() -> None:
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from vde_dagster import model\n@dataclass\nclass A:\n    b: int\n"
        "@model('m.x', columns={'id': 'int'})\ndef x(context):\n    return A(1)\n"
    )
    path = Path("models/m/ranking_of_shops.py")
    assert read(text, path).name == X
    assert "ranking_of_shops" not in sys.modules


@pytest.mark.parametrize(
    "body,words",
    [
        ('raise ValueError("half \\ud800")', "ValueError: half \\ud800"),
        (
            "class Bad(Exception):\n    def __str__(self): return 1 / 0\nraise Bad()",
            "imported: Bad",
        ),
    ],
)
def test_what_a_module_raises_can_be_printed_whatever_is_in_its_text(body: str, words: str) -> None:
    (problem,) = refused(f"{body}\n", PYTHON)
    assert words in problem.message
    assert str(problem).encode()


# Pre- and post-statements


def test_statements_of_a_function_are_those_that_a_sql_model_with_them_has() -> None:
    before, after = "DELETE FROM lake.raw.log WHERE d < @start_ds", "DROP TABLE IF EXISTS scratch"
    python = python_model(
        {"pre_statements": [before, "DROP TABLE m.a -- old"], "post_statements": after}
    )
    sql = read(
        f"MODEL (name m.x, kind FULL);\n{before};\nDROP TABLE m.a -- old\n;SELECT 1 AS id;\n{after}"
    )
    assert isinstance(python.body, PythonFunction)
    assert isinstance(sql.body, Query)
    assert (python.body.before, python.body.after) == (sql.body.before, sql.body.after)
    assert read_model(decode_source(encode(ModelSource, python.source))) == python


def prints(arguments: Mapping[str, object]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = python_model(arguments)
    return data_parts(found, None), metadata_parts(found, None)


def test_statements_of_a_function_count_in_its_data_only_if_there_are_some() -> None:
    bare = prints({})
    assert prints({"pre_statements": [], "post_statements": ()}) == bare
    statement = "DROP TABLE IF EXISTS m.a"
    first, behind = prints({"pre_statements": statement}), prints({"post_statements": [statement]})
    assert len({bare[0], first[0], behind[0]}) == 3
    assert bare[1] == first[1] == behind[1]
    again = prints({"pre_statements": ["drop table  if exists M.A;"]})
    assert again == first
    noted = prints({"pre_statements": [f"{statement} -- why"]})
    assert noted[0] == first[0]
    assert noted[1] != first[1]
