# ruff: noqa: E501 - rows of tables stay on one line
"""What the files alone show to be wrong, every command that reads them refuses, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.cli.calling import call

BASE: Final = {
    "vde.yaml": "name: shop\ndefaults:\n  start: 2024-01-01\n",
    "external_models.yaml": "- name: raw.t\n  columns: {id: int, ts: timestamp, sec: double}\n",
    "models/m/v.sql": "MODEL (name m.v, kind VIEW);\nSELECT id FROM raw.t",
    "models/m/e.sql": "MODEL (name m.e, kind EMBEDDED);\nSELECT id FROM raw.t",
}
RANGE: Final = "INCREMENTAL_BY_TIME_RANGE (time_column ts)"
PYTHON: Final = """from vde_dagster import model

@model("m.x", kind="FULL", depends_on=[{}], columns={{"id": "int"}}{})
def x(context):
    return context.table("m.v")
"""
WRONG: Final[Mapping[str, tuple[str, str, str]]] = {
    "a function reads a VIEW": ("x.py", PYTHON.format('"m.v"', ""), "m.x is a Python model and reads the VIEW m.v"),
    "a function reads an EMBEDDED model": ("x.py", PYTHON.format('"raw.t", "m.e"', ""), "reads the EMBEDDED m.e, which is not"),
    "batches at once": ("x.sql", "MODEL (name m.x, kind INCREMENTAL_BY_TIME_RANGE (time_column ts, batch_concurrency 2));\nSELECT id, ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt", "the batches of a model run one after the other"),
    "partial intervals": ("x.sql", f"MODEL (name m.x, kind {RANGE}, allow_partials true);\nSELECT id, ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt", "allow_partials"),
    "a source that nothing declares": ("x.sql", "SELECT id FROM raw.other", "neither a model of this project nor a declared source"),
    "a function's source that nothing declares": ("x.py", PYTHON.format('"raw.other"', ""), "neither a model of this project nor a declared source"),
    "a function imports what is nowhere": ("x.py", "import nothing_of_this_name\n" + PYTHON.format('"raw.t"', ""), "nothing_of_this_name"),
    "retries of what has no rows": ("x.sql", "MODEL (name m.x, kind VIEW, retries 2);\nSELECT id FROM raw.t", "retries has no effect"),
    "seconds that are cut off": ("x.sql", f"MODEL (name m.x, kind {RANGE});\nSELECT id, ts FROM raw.t WHERE sec BETWEEN @start_epoch AND @end_epoch", "@end_epoch is the last whole second"),
    "a session that follows a model": ("x.sql", f"MODEL (name m.x, kind {RANGE}, late_data (mode stateful, sources m.v));\nSELECT id, CAST(NULL AS TIMESTAMP) AS ts FROM m.v", "late_data tracks m.v, which is a view"),
    "an audit of a column that is not there": ("x.sql", "MODEL (name m.x, kind FULL, audits (not_null (columns := nope)));\nSELECT id FROM raw.t", "names the column nope"),
    "a macro's first parameter": ("../../macros/a.py", "from vde_dagster import macro\n@macro()\ndef f(context, x): return x\n", "looks like the evaluator, but is the macro's first argument"),
    "a format in quotes": ("x.py", PYTHON.format('"raw.t"', "").replace('kind="FULL"', 'kind={"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": ["id", "\'%Y%m%d\'"]}'), "contains '"),
    "a text that may be SQL": ("x.py", PYTHON.format('"raw.t"', ', audits=[("accepted_range", {"column": "id", "min_v": "id"})]'), "is a text in Python"),
}  # fmt: skip
COMMANDS: Final = (
    ("plan", "--no-apply"),
    ("fingerprint",),
    ("compare",),
    ("lineage",),
    ("render", "m.v"),
)


def written(folder: Path, path: str, text: str) -> Path:
    for name, each in {**BASE, f"models/m/{path}": text}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(each)
    return folder


@pytest.mark.parametrize("fault", WRONG)
def test_every_command_refuses_what_one_refuses(tmp_path: Path, fault: str) -> None:
    path, text, words = WRONG[fault]
    folder = written(tmp_path, path, text)
    reported = set()
    for command, *more in COMMANDS:
        given = [folder] if command == "compare" else more
        done = call(command, *given, "--project", folder)
        assert done.exit_code == 1, (command, done.stdout)
        (line,) = {each for each in done.stderr.splitlines() if words in each}
        reported.add(line.removeprefix(f"{folder}/"))
    assert len(reported) == 1, reported
