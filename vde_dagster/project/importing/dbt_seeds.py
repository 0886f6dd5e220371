"""Seeds of dbt as ours, with their files."""

from __future__ import annotations

import csv
import io
import posixpath
from collections.abc import Sequence

from vde_dagster.project.importing.dbt_models import DbtModel, column
from vde_dagster.project.importing.dbt_nodes import plain
from vde_dagster.project.importing.draft import Group, ModelDraft
from vde_dagster.project.importing.spark_sql import quoted


def seed_draft(model: DbtModel, files: dict[str, str]) -> ModelDraft | None:
    """A seed, whose file is put to the others; None where it is missing, which is noted."""
    text = model.project.target.seeds.get(model.node["unique_id"])
    if text is None:
        advice = "Write a SEED for it, and add its file."
        model.note(Group.EDIT, "a seed was left out: its file is missing", advice)
        return None
    rows = list(csv.reader(io.StringIO(text), delimiter=model.config.get("delimiter") or ","))
    if model.config.get("delimiter", ",") != ",":
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows(rows)
        text = written.getvalue()
        model.note(Group.CHANGED, "its file was rewritten with commas")
    file = f"seeds/{plain(model.node['alias'])}.csv"
    files[file] = text.replace("\r\n", "\n")
    model.note_config()
    return ModelDraft(
        name=model.name,
        path=model.path(),
        kind="SEED",
        options={"path": quoted(posixpath.relpath(file, posixpath.dirname(model.path())))},
        properties={**model.properties("SEED"), "columns": _columns(model, rows[0])},
    )


def _columns(model: DbtModel, header: Sequence[str]) -> str:
    """The columns of a file with the types that dbt gave them."""
    known = {name.lower(): kind for name, kind in model.project.columns(model.node).items()}
    for name, kind in (model.config.get("column_types") or {}).items():
        known.setdefault(name.lower(), model.project.spark_type(model.node, kind))
    guessed = [name for name in header if name.lower() not in known]
    if guessed:
        message = (
            f"{', '.join(guessed)}: the type that dbt guessed is not known, so string was written"
        )
        advice = "Run `dbt docs generate`: it writes the types to catalog.json."
        model.note(Group.EDIT, message, advice)
    pairs = [f"{column(name)} {known.get(name.lower(), 'string')}" for name in header]
    return f"({', '.join(pairs)})"
