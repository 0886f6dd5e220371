"""``forward_only`` in vde.yaml: which models its patterns mean, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.written_project import problems_of
from tests.project.headers import QUERY, python_model, read, sql_model
from tests.project.repositories import write
from vde_dagster.core.errors import Problem
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.metadata_parts import described_parts
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.loading import load_project
from vde_dagster.project.model_files import read_model

RANGE = "kind INCREMENTAL_BY_TIME_RANGE (time_column ts{})"
TIMELESS = "SELECT id FROM raw.orders"


def defaults(*patterns: str) -> Defaults:
    return Defaults(forward_only=patterns)


def project(folder: Path, patterns: str, **models: str) -> Path:
    files: dict[str, str | bytes | None] = {
        "vde.yaml": f"name: shop\nforward_only:{patterns}\n",
        "external_models.yaml": "- name: raw.orders\n  columns: {id: int, ts: timestamp}\n",
        **{f"models/m/{name}.sql": text for name, text in models.items()},
    }
    return write(folder, files)


def loaded(folder: Path) -> tuple[Graph, tuple[Problem, ...]]:
    found = load_project(folder)
    return found.graph, found.warnings


@pytest.mark.parametrize("pattern", ["m.x", "m.*", "tag:big", "path:models/m/*"])
def test_a_pattern_of_the_project_makes_a_model_forward_only(pattern: str) -> None:
    meant = sql_model(f"{RANGE.format('')}, tags (big)", defaults=defaults("zzz.*", pattern))
    assert meant.goes_forward
    assert python_model({"tags": ["big"]}, defaults=defaults(pattern)).goes_forward
    assert not sql_model(RANGE.format(""), defaults=defaults("zzz.*")).goes_forward
    assert not sql_model(RANGE.format("")).goes_forward


def test_what_the_kind_of_a_model_says_wins_over_a_pattern() -> None:
    assert not sql_model(RANGE.format(", forward_only false"), defaults=defaults("*")).goes_forward
    assert sql_model(RANGE.format(", forward_only true"), defaults=defaults("*")).goes_forward
    unmanaged = "kind INCREMENTAL_UNMANAGED (forward_only false)"
    assert not sql_model(unmanaged, defaults=defaults("*")).goes_forward
    in_python = python_model(
        {"kind": {"name": "INCREMENTAL_UNMANAGED", "forward_only": False}}, defaults=defaults("*")
    )
    assert not in_python.goes_forward


@pytest.mark.parametrize(
    "header,goes",
    [
        ("kind FULL", True),
        ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id)", True),
        ("kind VIEW", False),
        ("kind EMBEDDED", False),
        ("kind SEED (path 'a.csv')", False),
    ],
)
def test_a_pattern_is_about_models_whose_table_is_loaded_again(header: str, goes: bool) -> None:
    query = "" if "SEED" in header else TIMELESS if "KEY" not in header else QUERY
    files = {"a.csv": "id\n1\n"}
    text = f"MODEL (name m.x, {header});\n{query}"
    assert read(text, defaults=defaults("*"), attachments=files).goes_forward is goes


def test_a_stored_model_is_read_again_as_forward_only() -> None:
    one = sql_model(RANGE.format(""), defaults=defaults("m.*"))
    assert read_model(one.source).goes_forward
    assert Defaults.from_texts(defaults("m.*", "tag:a").as_texts()) == defaults("m.*", "tag:a")
    assert "forward_only" not in Defaults().as_texts()


def metadata(model: Model) -> tuple[str, ...]:
    return described_parts(model, None)


def test_a_pattern_is_metadata_as_the_option_of_the_kind_is() -> None:
    plain, by_kind = (sql_model(RANGE.format(each)) for each in ("", ", forward_only true"))
    by_pattern = sql_model(RANGE.format(""), defaults=defaults("m.x"))
    assert metadata(by_pattern) == metadata(by_kind)
    assert metadata(by_pattern) != metadata(plain)
    assert metadata(sql_model("", TIMELESS, defaults=defaults("*"))) != metadata(
        sql_model("", TIMELESS)
    )


MODELS = {
    "big": f"MODEL ({RANGE.format('')}, tags (huge)); SELECT id, ts FROM raw.orders "
    "WHERE ts BETWEEN @start_dt AND @end_dt",
    "shown": "MODEL (kind VIEW); SELECT id FROM m.big",
}


def test_patterns_that_are_used_say_nothing(tmp_path: Path) -> None:
    patterns = " ['m.big', 'tag:huge', 'path:models/m/*', 'm.*']"
    graph, warnings = loaded(project(tmp_path, patterns, **MODELS))
    assert warnings == ()
    assert graph[ModelName("m", "big")].model.goes_forward
    assert not graph[ModelName("m", "shown")].model.goes_forward
    graph, _ = loaded(project(tmp_path, " m.big", **MODELS))
    assert graph[ModelName("m", "big")].model.goes_forward, "one pattern needs no list"


UNUSED = """
  - m.bgi
  - tag:hug
  - raw.orders
  - zzzzzzzz.*
  - m.shown
"""


def test_patterns_that_mean_nothing_are_warned_of_with_their_line(tmp_path: Path) -> None:
    _, warnings = loaded(project(tmp_path, UNUSED.rstrip(), **MODELS))
    found = [
        (each.place.path.name, each.place.line, each.message, each.advice) for each in warnings
    ]
    assert found == [
        ("vde.yaml", 3, "'m.bgi' in forward_only matches no model of this project",
         "Did you mean m.big? Correct or remove it."),
        ("vde.yaml", 4, "'tag:hug' in forward_only matches no model of this project",
         "Did you mean tag:huge? Correct or remove it."),
        ("vde.yaml", 5, "'raw.orders' in forward_only matches no model of this project",
         "Correct or remove it."),
        ("vde.yaml", 6, "'zzzzzzzz.*' in forward_only matches no model of this project",
         "Correct or remove it."),
        ("vde.yaml", 7, "'m.shown' in forward_only matches only models of kind VIEW",
         "Remove it: these models have no table that an edit could keep."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "patterns,line,message,advice",
    [
        (
            "\n  - 'git:main'",
            3,
            "'git:main' in forward_only is not a valid pattern of models",
            "tag:NAME, path",
        ),
        ("\n  - ''", 3, "'' in forward_only is not a valid pattern of models", "Write a name"),
        (" true", 2, "'true' in forward_only is not a valid pattern of models", "'*' for all"),
        ("\n  - 3", 3, "'3' in forward_only is not a valid pattern of models", "'*' for all"),
        ("\n  - [a.b]", 3, "a single value is expected here", "Write"),
        ("\n  m.big: true", 2, "a list is expected here", "Write"),
    ],
)
def test_what_is_no_pattern_is_refused_with_its_line(
    tmp_path: Path, patterns: str, line: int, message: str, advice: str
) -> None:
    (problem,) = problems_of(lambda: load_project(project(tmp_path, patterns, **MODELS)))
    assert (problem.place.path.name, problem.place.line) == ("vde.yaml", line)
    assert message in problem.message
    assert advice in problem.advice
