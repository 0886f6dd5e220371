# ruff: noqa: E501 - rows of tables stay on one line
"""What other tools support and this version does not: refused in files, read if it was stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.repositories import write
from vde_dagster.core.errors import Problem, ProjectInvalid
from vde_dagster.core.graph.graph import build_graph
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.names import ModelName
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.loading import load_for_comparison, load_project
from vde_dagster.project.model_files import read_model

FILES = {
    "vde.yaml": "name: shop\ndefaults:\n  start: 2024-01-01\n",
    "external_models.yaml": "- name: raw.t\n  columns: {id: int, ts: timestamp}\n",
}
NAME = ModelName("m", "x")
RANGE = "INCREMENTAL_BY_TIME_RANGE (time_column ts)"
TIMED = "SELECT id, ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt"
PYTHON = """from vde_dagster import model

@model(
    "m.x",
    kind={"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "ts"},
    depends_on=["raw.t"],
    columns={"id": "int", "ts": "timestamp"},
    %s
)
def x(context):
    return context.table("raw.t")
"""

# Each row: a model's text, the line that is refused, words of the message, words of the advice.
UNSUPPORTED = [
    ("MODEL (name m.x, kind FULL);\nSET x = 1;\nCREATE TABLE m.y AS\nSELECT [1] AS a;\nSELECT id FROM raw.t", 4, "lists in brackets", "array(...)"),
    ("MODEL (name m.x, kind FULL);\nSELECT @EACH(\n  [a, b],\n  c -> id AS @c\n),\n  [1] AS d\nFROM raw.t", 6, "lists in brackets", "array(...)"),
    ("MODEL (name m.x, kind FULL);\nSELECT id FROM raw.t QUALIFY ROW_NUMBER() OVER (ORDER BY id) = 1", 2, "have QUALIFY", "AS w FROM"),
    ("MODEL (name m.x, kind FULL, dialect databricks);\nSELECT id FROM raw.t QUALIFY ROW_NUMBER() OVER (ORDER BY id) = 1", 2, "have QUALIFY", "AS w FROM"),
    ("MODEL (name m.x, kind FULL, dialect databricks);\nSELECT id:a AS a FROM raw.t", 2, "Spark SQL does not have this", "Write it in Spark SQL"),
    ("MODEL (name m.x, kind FULL);\nSELECT\n  id,\n  ts,\nFROM raw.t", 4, "a comma after the last item of a list", "Remove it."),
    ("MODEL (name m.x, kind FULL);\nSELECT id,\n  ts AS \"at night\" FROM raw.t", 3, "a text in quotes as a name", "`at night`"),
    ("MODEL (name m.x, kind FULL);\nSELECT\n  * EXCLUDE (ts)\nFROM raw.t", 3, "`*` with EXCLUDE", "EXCEPT"),
    ("MODEL (name m.x, kind FULL, dialect databricks);\nSELECT\n  id,\nFROM raw.t", 3, "a comma after", "Remove it."),
    ("MODEL (name m.x, kind FULL);\nINSERT INTO raw.t\nSELECT id, FROM raw.t;\nSELECT id\nFROM raw.t", 3, "a comma after", "Remove it."),
    (f"MODEL (name m.x, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id,\nbatch_concurrency 2));\n{TIMED}", 2, "run one after the other", "Remove batch_concurrency"),
    ("MODEL (name m.x, kind FULL,\nallow_partials true);\nSELECT id FROM raw.t", 2, "allow_partials", "shorter interval_unit"),
    (f"MODEL (name m.x, kind {RANGE},\n\nallow_partials true);\n{TIMED}", 3, "only intervals that have ended are computed", "shorter interval_unit"),
    ("MODEL (name m.x, kind VIEW,\nfreshness '4 hours');\nSELECT id FROM raw.t", 2, "freshness has no effect on a model of kind VIEW, which has no rows of its own", "Leave it out."),
    ("MODEL (name m.x, kind EMBEDDED,\n\nupdates_on all);\nSELECT id FROM raw.t", 3, "updates_on has no effect on a model of kind EMBEDDED", "Leave it out."),
    ("MODEL (name m.x, kind MANAGED,\nfreshness '4 hours');\nSELECT id FROM raw.t", 2, "which is kept fresh by target_lag in its physical_properties", "Leave it out."),
    ("MODEL (name m.x, kind VIEW,\nretries 2);\nSELECT id FROM raw.t", 2, "retries has no effect on a model of kind VIEW, which has no rows of its own", "Leave it out."),
    ("MODEL (name m.x, kind EMBEDDED,\nconcurrency 1);\nSELECT id FROM raw.t", 2, "concurrency has no effect on a model of kind EMBEDDED, which has no rows of its own", "Leave it out."),
    ("MODEL (name m.x, kind VIEW,\non_destructive_change warn);\nSELECT id FROM raw.t", 2, "on_destructive_change has no effect on a model of kind VIEW, which has no table that an edit could keep", "Leave it out."),
    ("MODEL (name m.x, kind VIEW);\nSELECT id, ROW_NUMBER() OVER w AS n\nFROM raw.t WINDOW w AS (ORDER BY id)", 2, "Spark cannot read a view with a WINDOW clause", "use the kind FULL"),
    (PYTHON % "allow_partials=True,", 8, "allow_partials", "shorter interval_unit"),
    (f"MODEL (name m.x, kind INCREMENTAL_BY_TIME_RANGE (\ntime_column ts,\nbatch_concurrency 2));\n{TIMED}", 3, "run one after the other, since each is one commit to the model's table", "Remove batch_concurrency"),
    (f"MODEL (name m.x, kind INCREMENTAL_UNMANAGED,\nlate_data (mode stateless, sources raw.t, catchup_threshold '1 day'));\n{TIMED}", 2, "INCREMENTAL_UNMANAGED", "INCREMENTAL_BY_TIME_RANGE"),
]  # fmt: skip


def source_of(text: str) -> ModelSource:
    path = Path("models/m/x.py" if text.startswith("from ") else "models/m/x.sql")
    return ModelSource(path=path, text=text, defaults=Defaults().as_texts())


def project(folder: Path, text: str) -> Path:
    return write(folder, {**FILES, str(source_of(text).path): text})


def problems_of(folder: Path) -> tuple[Problem, ...]:
    with pytest.raises(ProjectInvalid) as caught:
        load_project(folder)
    return caught.value.problems


@pytest.mark.parametrize("text,line,message,advice", UNSUPPORTED)
def test_what_would_do_nothing_is_refused_when_the_project_is_loaded(
    text: str, line: int, message: str, advice: str, tmp_path: Path
) -> None:
    (problem,) = problems_of(project(tmp_path, text))
    assert (problem.place.path, problem.place.line) == (source_of(text).path, line)
    assert message in problem.message
    assert advice in problem.advice


@pytest.mark.parametrize("text", [row[0] for row in UNSUPPORTED])
def test_a_model_that_was_stored_with_it_can_be_read_and_is_not_compared(
    text: str, tmp_path: Path
) -> None:
    assert read_model(source_of(text)).warnings == ()
    with pytest.raises(ProjectInvalid) as caught:
        load_for_comparison(project(tmp_path, text))
    assert caught.value.problems == problems_of(tmp_path)


def test_a_disabled_model_may_ask_for_what_is_not_supported(tmp_path: Path) -> None:
    text = "MODEL (name m.x, kind FULL, enabled false, allow_partials true);\nSELECT id FROM raw.t"
    assert load_project(project(tmp_path, text)).warnings == ()


@pytest.mark.parametrize(
    "header",
    [
        "kind FULL, allow_partials false",
        "kind INCREMENTAL_BY_TIME_RANGE (time_column ts, batch_concurrency 1)",
        f"kind {RANGE}, late_data (mode stateless, sources raw.t)",
    ],
)
def test_what_is_so_anyway_is_accepted(header: str, tmp_path: Path) -> None:
    assert NAME in load_project(project(tmp_path, f"MODEL (name m.x, {header});\n{TIMED}")).graph


@pytest.mark.parametrize("kind", ["VIEW", "EMBEDDED", "SEED (path '../../seeds/x.csv')"])
def test_what_has_no_intervals_may_allow_partial_ones(kind: str, tmp_path: Path) -> None:
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds/x.csv").write_text("id\n1\n")
    query = "" if "SEED" in kind else ";\nSELECT id FROM raw.t"
    text = f"MODEL (name m.x, kind {kind}, allow_partials true){query}"
    assert NAME in load_project(project(tmp_path, text)).graph


@pytest.mark.parametrize("as_of", ["VERSION AS OF 3", "TIMESTAMP AS OF '2024-01-01'"])
@pytest.mark.parametrize("kind", ["FULL", "EMBEDDED", "VIEW"])
def test_only_a_view_reads_a_table_as_it_was(kind: str, as_of: str) -> None:
    text = f"MODEL (name m.x, kind {kind});\nSELECT id FROM\nraw.t {as_of}"
    source = ModelSource(path=Path("models/m/x.sql"), text=text, defaults=Defaults().as_texts())
    if kind == "VIEW":
        read_model(source)
        return
    with pytest.raises(ProjectInvalid) as refused:
        read_model(source)
    (problem,) = refused.value.problems
    assert problem.place.line == 3
    assert problem.message == "raw.t is read as of a version or a time, which only a VIEW can do"


def test_no_model_reads_a_view_of_a_table_as_it_was(tmp_path: Path) -> None:
    texts = {
        "models/old.sql": "MODEL (name m.old, kind VIEW);\n"
        "SELECT id FROM raw.t TIMESTAMP AS OF '2024-01-01'",
        "models/over.sql": "MODEL (name m.over, kind VIEW);\nSELECT id FROM m.old",
    }
    reader = (
        "MODEL (name m.x, kind FULL);\nSELECT a.id FROM raw.t AS a\nJOIN m.over AS b USING (id)"
    )
    write(tmp_path, {**FILES, **texts})
    sources = [each.model.source for each in load_project(tmp_path).graph]
    write(tmp_path, {**FILES, **texts, "models/x.sql": reader})
    with pytest.raises(ProjectInvalid) as refused:
        load_project(tmp_path)
    (problem,) = refused.value.problems
    assert problem.place.line == 3
    assert problem.message == (
        "m.x reads m.over, a VIEW that reads a table as of a version or a time"
    )
    stored = ModelSource(path=Path("x.sql"), text=reader, defaults=Defaults().as_texts())
    models = [read_model(each) for each in (*sources, stored)]
    assert NAME in build_graph(models, are_stored=True)  # an earlier release took it


def test_a_table_whose_name_is_made_when_it_runs_is_refused() -> None:
    text = "MODEL (name m.x, kind FULL);\nSELECT id FROM\nIDENTIFIER('raw.t')"
    source = ModelSource(path=Path("models/m/x.sql"), text=text, defaults=Defaults().as_texts())
    with pytest.raises(ProjectInvalid) as refused:
        read_model(source)
    (problem,) = refused.value.problems
    assert problem.place.line == 3
    assert "the inputs of the model are not known" in problem.message
