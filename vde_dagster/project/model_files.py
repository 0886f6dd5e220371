"""From the text of a model file to a `Model`. The same code reads files and stored snapshots."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePath

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place, Problem, ProjectInvalid
from vde_dagster.core.model.kinds import External, Seed
from vde_dagster.core.model.model import AuthorsText, Model, ModelSource, Query, SeedRows
from vde_dagster.core.model.seed_rows import seed_findings
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.table_names import (
    defined_tables,
    name_of_table,
    project_names,
    project_names_of_statement,
    tables_of,
    temporary_names,
)
from vde_dagster.core.time.intervals import EPOCH
from vde_dagster.project.audit_calls import model_with_calls
from vde_dagster.project.audits import Audits, split_audits
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.macros.files import UserMacro, load_user_macros
from vde_dagster.project.macros.language import MacroScope, Statements, read_statements
from vde_dagster.project.model_checks import check_query
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.kind_options import read_kind
from vde_dagster.project.properties.model_block import Block, block_starts, read_block
from vde_dagster.project.properties.model_properties import Properties, read_properties
from vde_dagster.project.python_models import read_python_model
from vde_dagster.project.settings import Settings
from vde_dagster.project.signals import Signals


class ModelInvalid(ProjectInvalid):
    """A model's file has problems; ``model`` is what could be read in spite of them, if any."""

    def __init__(self, problems: Iterable[Problem], model: Model | None = None) -> None:
        super().__init__(problems)
        self.model = model


def read_model(
    source: ModelSource,
    *,
    functions: Mapping[str, UserMacro | Problem] | None = None,
    signals: Signals | None = None,
    audits: Audits | None = None,
) -> Model:
    """The model that a source text declares.

    Args:
        source: The text, with the project's settings and the files that belong to it.
        functions: The project's macros by name; if None, those attached to the source.
        signals: The project's signals; if None, those attached to the source.
        audits: The project's audits; if None, those attached to the source.

    Raises:
        ModelInvalid: The text cannot be read as a model; all problems of the file at once.
    """
    problems = Problems()
    settings = Settings.of(source, signals=signals, audits=audits)
    try:
        model = _read(source, settings, functions, problems)
    except ProjectInvalid as error:
        raise ModelInvalid([*problems.found, *error.problems]) from error
    except RecursionError:
        problems.add(
            Place(path=source.path),
            "the query or code is nested too deeply",
            "Split it into several models, or a long chain of operators into several columns.",
        )
        raise ModelInvalid(problems.found) from None
    if model is not None:
        warnings, unsupported = tuple(problems.warnings), tuple(problems.unsupported)
        model = replace(model, warnings=warnings, unsupported=unsupported)
    if problems.found or model is None:
        raise ModelInvalid(problems.found, model)
    return model


def seed_path(source: ModelSource) -> str | None:
    """The file that a SEED model's text names; None for other models, and unreadable ones."""
    if source.path.suffix != ".sql" or "seed" not in source.text.lower():
        return None
    defaults = Settings.of(source).defaults
    try:
        block = read_block(source.text, path=source.path, dialect=defaults.dialect)
        written = dict(block.properties).get("kind") if block else None
        value = written.rest() if written is not None else None
        kind = read_kind(value, defaults.dialect, Problems())
    except (ProjectInvalid, RecursionError):
        return None
    return kind.path if isinstance(kind, Seed) else None


def _read(
    source: ModelSource,
    settings: Settings,
    functions: Mapping[str, UserMacro | Problem] | None,
    problems: Problems,
) -> Model | None:
    match source.path.suffix:
        case ".py":
            return read_python_model(settings, problems)
        case ".sql":
            if functions is None:
                functions, found = load_user_macros(source.attachments)
                problems.found += found
            return _read_sql(source, settings, functions, problems)
        case _:
            return _read_external(source, settings.defaults)


def external_source(
    name: ModelName, columns: dict[str, str], *, place: Place, defaults: Defaults
) -> ModelSource:
    """The source text of a declared source, as it is stored."""
    entry = {"name": str(name), "columns": columns, "line": place.line}
    return ModelSource(path=place.path, text=json.dumps(entry), defaults=defaults.as_texts())


def _read_external(source: ModelSource, defaults: Defaults) -> Model:
    entry = json.loads(source.text)
    return Model(
        name=ModelName.parse(entry["name"]).within(defaults.catalog),
        kind=External(),
        body=None,
        source=source,
        place=Place(path=source.path, line=entry["line"]),
        start=defaults.start or EPOCH,
        columns=tuple(
            Column(name=name, type=written) for name, written in entry["columns"].items()
        ),
    )


def _read_sql(
    source: ModelSource,
    settings: Settings,
    functions: Mapping[str, UserMacro | Problem],
    problems: Problems,
) -> Model | None:
    block = read_block(source.text, path=source.path, dialect=settings.defaults.dialect)
    place = block.place if block else Place(path=source.path)
    properties = read_properties(
        block.properties if block else (),
        default_name=_name_of_path(source.path),
        settings=settings,
        place=place,
        problems=problems,
    )
    if isinstance(properties.model.kind, Seed):
        if block is not None and block.has_rest:
            message = (
                "a SEED takes its rows from its file, and cannot have a query or other statements"
            )
            where = Place(path=source.path, line=block.query_line)
            problems.add(where, message, "Remove the text after the MODEL block.")
        return _seed(settings, properties, functions, place, problems)
    return _sql_model(properties, block, settings, functions, problems)


def _sql_model(
    properties: Properties,
    block: Block | None,
    settings: Settings,
    functions: Mapping[str, UserMacro | Problem],
    problems: Problems,
) -> Model | None:
    source = settings.source
    place = Place(path=source.path, line=block.query_line if block else 1)
    text = "\n" * (place.line - 1) + (source.text[block.query_offset :] if block else source.text)
    text, beside = split_audits(text, path=source.path, dialect=settings.defaults.dialect)
    text = _first_model(text, source.path, settings.defaults.dialect, problems)
    read = read_statements(
        text[place.line - 1 :],
        dialect=properties.dialect,
        place=place,
        scope=MacroScope(variables=settings.variables, functions=functions),
        problems=problems,
    )
    catalog = settings.defaults.catalog
    body = None
    if read is not None and (read.expressions or properties.kind_is_known):  # it may be a SEED
        body = _body(read, properties.dialect, catalog, place, problems)
    parents: set[ModelName] | None = None
    if body is not None:
        check_query(body, properties, place, problems)
        named = _parents(body.expression, place, problems)
        parents = {*named, *defined_tables(body.before), *properties.depends_on}
    used = (read.used_variables, read.used_files) if read is not None else ((), ())
    return model_with_calls(
        properties, settings, functions, body, parents, used=used, problems=problems, beside=beside
    )


def _first_model(text: str, path: Path, dialect: str, problems: Problems) -> str:
    """A model's text before another MODEL block, which is a problem."""
    starts = block_starts(text, dialect, "MODEL")
    if not starts:
        return text
    place = Place(path=path, line=text.count("\n", 0, starts[0]) + 1)
    problems.add(place, "the file has a second MODEL block", "Give each model a file of its own.")
    return text[: starts[0]]


def _body(
    read: Statements, dialect: str, catalog: str, place: Place, problems: Problems
) -> Query | None:
    """The one query of a model, with the statements before and after it."""
    queries = [index for index, each in enumerate(read.expressions) if isinstance(each, exp.Query)]
    if len(queries) != 1:
        what = f"{len(queries)} queries" if queries else "none"
        message = f"a model needs exactly one query; here {'are' if queries else 'is'} {what}"
        problems.add(place, message, "Write one SELECT after the MODEL block.")
        return None
    at = queries[0]
    query = read.expressions[at]
    assert isinstance(query, exp.Query), "the index of a query"
    try:
        named = project_names(query, catalog, copy=False)  # it has no other owner
        temporary = temporary_names(read.expressions)
        before, after = (
            tuple(project_names_of_statement(each, catalog, temporary=temporary) for each in part)
            for part in (read.expressions[:at], read.expressions[at + 1 :])
        )
    except SQL_ERRORS as error:
        problems.add(place, f"the query does not parse: {first_line(error)}", "Rename it.")
        return None
    text = AuthorsText(
        catalog=catalog,
        query=read.texts[at],
        before=read.texts[:at],
        after=read.texts[at + 1 :],
        original=read.original,
    )
    return Query(expression=named, dialect=dialect, before=before, after=after, text=text)


def _seed(
    settings: Settings,
    properties: Properties,
    functions: Mapping[str, UserMacro | Problem],
    place: Place,
    problems: Problems,
) -> Model | None:
    assert isinstance(properties.model.kind, Seed), "the model is a seed"
    written = properties.model.kind.path
    text = settings.source.attachments.get(written)
    if text is None:
        message = f"the seed's file {written!r} is not a file inside this project"
        advice = (
            "Write its path relative to the model's file. Copy a file from outside of the project, "
        )
        advice += "or behind a symbolic link, into it."
        problems.add(place, message, advice)
    else:
        file = Path(posixpath.normpath((settings.source.path.parent / written).as_posix()))
        for finding in seed_findings(text, properties.model.columns):
            declared = properties.places.get("columns", place)
            where = declared if finding.line is None else Place(path=file, line=finding.line)
            message = f"the seed {properties.model.name}: {finding.message}"
            problems.add(where, message, finding.advice)
    body = SeedRows(text=text) if text is not None else None
    used = ((), {written})
    return model_with_calls(properties, settings, functions, body, (), used=used, problems=problems)


def _name_of_path(path: PurePath) -> ModelName | None:
    """``models/mart/revenue.sql`` is mart.revenue; None if the path gives no valid name."""
    parts = path.with_suffix("").parts[1:]
    try:
        return ModelName.parse(".".join(parts[-2:]))
    except InvalidName:
        return None


def _parents(query: exp.Query, place: Place, problems: Problems) -> tuple[ModelName, ...]:
    names: set[ModelName] = set()
    for table in tables_of(query):
        try:
            names.add(name_of_table(table))
        except InvalidName as error:
            problems.refuse(place, error)
    return tuple(sorted(names))
