"""Models from a few words of a header, in SQL and in Python, and what is reported of bad ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.core.written_project import problems_of
from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import read_model

QUERY = "SELECT id, shop, amount, ts, day FROM raw.orders WHERE ts BETWEEN @start_dt AND @end_dt"
COLUMNS = {"id": "bigint", "shop": "string", "amount": "double", "ts": "timestamp", "day": "date"}
SQL = Path("models/m/x.sql")
PYTHON = Path("models/m/x.py")
NOWHERE = Place(path=Path("nowhere"))


def read(
    text: str,
    path: Path = SQL,
    *,
    defaults: Defaults | None = None,
    attachments: Mapping[str, str] | None = None,
) -> Model:
    """The model of a whole file."""
    texts = (defaults or Defaults()).as_texts()
    return read_model(
        ModelSource(path=path, text=text, defaults=texts, attachments=attachments or {})
    )


def sql_model(properties: str, query: str = QUERY, *, defaults: Defaults | None = None) -> Model:
    """m.x with these properties; it is FULL unless they say something else."""
    kind = "" if "kind " in properties.lower() else "kind FULL, "
    listed = f", {properties}" if properties else ""
    return read(f"MODEL ({kind}name m.x{listed});\n{query}", defaults=defaults)


def python_text(arguments: Mapping[str, object]) -> str:
    """A module with m.x; the decorator's arguments stand on lines of their own, from line 6 on."""
    given = {"depends_on": ["raw.orders"], **arguments}
    lines = "".join(f"    {key}={value!r},\n" for key, value in given.items())
    columns = "" if "columns" in given else f"    columns={COLUMNS!r},\n"
    return (
        "import datetime\nfrom vde_dagster import model\n\n@model(\n    'm.x',\n"
        f"{lines}{columns})\ndef x(context):\n    return context.table('raw.orders')\n"
    )


def python_model(arguments: Mapping[str, object], *, defaults: Defaults | None = None) -> Model:
    """m.x with these arguments; it is FULL unless they say something else."""
    return read(python_text(arguments), PYTHON, defaults=defaults)


def header_of(model: Model) -> Model:
    """A model without its file, its language and its columns."""
    return replace(model, body=None, source=ModelSource(path=SQL, text=""), place=NOWHERE)


def refused(
    text: str, path: Path = SQL, *, attachments: Mapping[str, str] | None = None
) -> tuple[Problem, ...]:
    """The problems of a file; each has a line of it and advice."""
    problems = problems_of(lambda: read(text, path, attachments=attachments))
    for problem in problems:
        assert problem.place.path == path
        assert 1 <= problem.place.line <= text.count("\n") + 1
        assert problem.advice, problem
    return problems
