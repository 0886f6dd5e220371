"""From the text of a model file to a `Model`. The same code reads files and stored snapshots."""

from __future__ import annotations

import json
from pathlib import PurePath

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError
from sqlglot.optimizer.scope import traverse_scope

from vde_dagster.core.dsha import Column
from vde_dagster.core.errors import Place, ProjectInvalid
from vde_dagster.core.kind import External, IncrementalByTimeRange, Seed, View
from vde_dagster.core.macros import TIME_MACROS, macros_in
from vde_dagster.core.model import Body, Model, ModelSource, Query, SeedRows
from vde_dagster.core.names import DEFAULT_SCHEMA, InvalidName, ModelName
from vde_dagster.core.row_local import why_not_row_local
from vde_dagster.project.configuration import Defaults
from vde_dagster.project.model_block import Block, read_block
from vde_dagster.project.model_properties import (
    Problems,
    Properties,
    read_properties,
    suggestion,
)
from vde_dagster.project.python_models import read_python_model


def read_model(source: ModelSource) -> Model:
    """The model that a source text declares.

    Raises:
        ProjectInvalid: The text cannot be read as a model; all problems of the file at once.
    """
    problems = Problems()
    defaults = Defaults.from_texts(source.defaults)
    try:
        model = _read(source, defaults, problems)
    except ProjectInvalid as error:
        raise ProjectInvalid([*problems.found, *error.problems]) from error
    except RecursionError:
        problems.add(
            Place(path=source.path),
            "the query or code is nested too deeply",
            "Split it in several models, or a long chain of operators in several columns.",
        )
        raise ProjectInvalid(problems.found) from None
    if problems.found or model is None:
        raise ProjectInvalid(problems.found)
    return model


def seed_path(source: ModelSource) -> str | None:
    """The file that a SEED model's text names; None for other models, and unreadable ones."""
    if source.path.suffix != ".sql" or "seed" not in source.text.lower():
        return None
    defaults = Defaults.from_texts(source.defaults)
    try:
        block = read_block(source.text, path=source.path, dialect=defaults.dialect)
        properties = read_properties(
            [each for each in block.properties if each[0] == "kind"] if block else (),
            default_name=ModelName(DEFAULT_SCHEMA, "seed"),
            defaults=defaults,
            place=Place(path=source.path),
            problems=Problems(),
        )
    except (ProjectInvalid, RecursionError):
        return None
    kind = properties.kind if properties is not None else None
    return kind.path if isinstance(kind, Seed) else None


def _read(source: ModelSource, defaults: Defaults, problems: Problems) -> Model | None:
    match source.path.suffix:
        case ".py":
            return read_python_model(source, defaults=defaults, problems=problems)
        case ".sql":
            return _read_sql(source, defaults, problems)
        case _:
            return _read_external(source, defaults)


def external_source(
    name: ModelName, columns: dict[str, str], *, place: Place, defaults: Defaults
) -> ModelSource:
    """The source text of a declared source, as it is stored."""
    entry = {"name": str(name), "columns": columns, "line": place.line}
    return ModelSource(path=place.path, text=json.dumps(entry), defaults=defaults.as_texts())


def _read_external(source: ModelSource, defaults: Defaults) -> Model:
    entry = json.loads(source.text)
    return Model(
        name=ModelName.parse(entry["name"]),
        kind=External(),
        body=None,
        source=source,
        place=Place(path=source.path, line=entry["line"]),
        start=defaults.start,
        columns=tuple(
            Column(name=name.lower(), type=kind.lower()) for name, kind in entry["columns"].items()
        ),
    )


def _read_sql(source: ModelSource, defaults: Defaults, problems: Problems) -> Model | None:
    block = read_block(source.text, path=source.path, dialect=defaults.dialect)
    properties = read_properties(
        block.properties if block else (),
        default_name=_name_of_path(source.path),
        defaults=defaults,
        place=block.place if block else Place(path=source.path),
        problems=problems,
    )
    if properties is None:
        return None
    place = block.place if block else Place(path=source.path)
    if isinstance(properties.kind, Seed):
        return _seed(source, properties, place, problems)
    query = _query(source, block, properties, problems)
    if query is None:
        return None
    _check_query(query, properties, block, source, problems)
    parents = _parents(query, Place(path=source.path, line=_query_line(block)), problems)
    body = Query(expression=query, dialect=properties.dialect)
    return _model(source, properties, place, body, parents)


def _model(
    source: ModelSource,
    properties: Properties,
    place: Place,
    body: Body,
    parents: tuple[ModelName, ...],
) -> Model:
    return Model(
        name=properties.name,
        kind=properties.kind,
        body=body,
        source=source,
        place=place,
        parents=parents,
        unit=properties.unit,
        cron=properties.cron,
        start=properties.start,
        columns=properties.columns,
        owner=properties.owner,
        description=properties.description,
        tags=properties.tags,
        grains=(properties.grain,) if properties.grain else (),
        late_data=properties.late_data,
    )


def _seed(
    source: ModelSource, properties: Properties, place: Place, problems: Problems
) -> Model | None:
    assert isinstance(properties.kind, Seed)
    text = source.attachments.get(properties.kind.path)
    if text is None:
        problems.add(
            place,
            f"the seed's file {properties.kind.path!r} is no file inside this project",
            "Write its path relative to the model's file. What lies outside of the project, also "
            "behind a symbolic link, has to be copied into it.",
        )
        return None
    return _model(source, properties, place, SeedRows(text=text), ())


def _name_of_path(path: PurePath) -> ModelName | None:
    """``models/mart/revenue.sql`` is mart.revenue; None where the path gives no good name."""
    parts = path.with_suffix("").parts[1:]
    try:
        return ModelName.parse(".".join(parts[-2:]))
    except InvalidName:
        return None


def _query_line(block: Block | None) -> int:
    return block.query_line if block else 1


def _query(
    source: ModelSource, block: Block | None, properties: Properties, problems: Problems
) -> exp.Query | None:
    place = Place(path=source.path, line=_query_line(block))
    text = source.text[block.query_offset :] if block else source.text
    if "{{" in text or "{%" in text:
        problems.add(
            place,
            "the query has Jinja in it, which models here cannot have",
            "Use time macros such as @start_dt, and models instead of Jinja macros.",
        )
        return None
    padded = "\n" * (_query_line(block) - 1) + text
    try:
        statements = [
            each
            for each in sqlglot.parse(padded, dialect=properties.dialect)
            if each is not None and not isinstance(each, exp.Semicolon)  # that carries comments
        ]
    except (ParseError, TokenError) as error:
        advice = "Check the SQL at this line against the model's dialect."
        message = f"the query does not parse: {_first_line(error)}"
        problems.add(_place_of(error, place), message, advice)
        return None
    except ValueError as error:
        problems.add(place, str(error), "Check the model's dialect.")
        return None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        what = f"{len(statements)} statements" if len(statements) != 1 else "no query"
        message = f"a model has exactly one query; here is {what}"
        problems.add(place, message, "Write one SELECT after the MODEL block.")
        return None
    return statements[0]


def _check_query(
    query: exp.Query,
    properties: Properties,
    block: Block | None,
    source: ModelSource,
    problems: Problems,
) -> None:
    place = Place(path=source.path, line=_query_line(block))
    for name, _node in macros_in(query):
        if isinstance(properties.kind, View):
            problems.add(
                place,
                f"a VIEW is read at any time, so @{name} means nothing in it",
                "Use the kind FULL, or leave the filter to who reads the view.",
            )
        elif name not in TIME_MACROS:
            problems.add(place, f"unknown macro @{name}", suggestion(name, sorted(TIME_MACROS)))
    names = {_output_name(projection) for projection in query.selects}
    for projection in query.selects:
        if not _output_name(projection):
            sql = projection.sql(dialect=properties.dialect)[:60]
            problems.add(place, f"the column `{sql}` has no name", "Write `... AS name`.")
    column = (
        properties.kind.time_column if isinstance(properties.kind, IncrementalByTimeRange) else None
    )
    if column is not None and column not in names and "*" not in names:
        problems.add(
            place,
            f"the time column {column!r} is not among the columns of the query",
            suggestion(column, sorted(name for name in names if name)),
        )
    _check_late_data(query, properties, block, source, problems)


def _output_name(projection: exp.Expr) -> str:
    """The name that a column was given; ``*`` for all columns, empty where there is none."""
    if projection.is_star and not isinstance(projection, exp.Alias):
        named = isinstance(projection, exp.Star | exp.Column)
        return "*" if named else ""
    return "" if isinstance(projection, exp.Literal) else projection.output_name.lower()


def _check_late_data(
    query: exp.Query,
    properties: Properties,
    block: Block | None,
    source: ModelSource,
    problems: Problems,
) -> None:
    if properties.late_data is None:
        return
    place = block.place if block else Place(path=source.path)
    if not isinstance(properties.kind, IncrementalByTimeRange):
        problems.add(place, "late_data needs the kind INCREMENTAL_BY_TIME_RANGE")
    why = why_not_row_local(query, properties.late_data.sources[0])
    if why is not None:
        problems.add(
            place,
            f"late_data in stateless mode appends rows one by one, but the query has {why}",
            "Read exactly the one source, row by row, and aggregate in a model below.",
        )


def _parents(query: exp.Query, place: Place, problems: Problems) -> tuple[ModelName, ...]:
    names: set[ModelName] = set()
    try:
        scopes = traverse_scope(query)
    except SqlglotError as error:
        problems.add(place, f"the query cannot be understood: {_first_line(error)}", "Rename it.")
        return ()
    for scope in scopes:
        for table in scope.sources.values():
            if not isinstance(table, exp.Table) or not table.name:
                continue
            written = ".".join(part.name for part in table.parts)
            try:
                names.add(ModelName.parse(written if table.db else f"{DEFAULT_SCHEMA}.{written}"))
            except InvalidName as error:
                problems.add(place, str(error))
    return tuple(sorted(names))


def _place_of(error: ParseError | TokenError, default: Place) -> Place:
    details = getattr(error, "errors", None)
    line = details[0].get("line") if details else None
    return Place(path=default.path, line=line or default.line)


def _first_line(error: Exception) -> str:
    details = getattr(error, "errors", None)
    if details and details[0].get("description"):
        near = f" near `{details[0].get('highlight')}`" if details[0].get("highlight") else ""
        return f"{details[0]['description'].rstrip('.')}{near}"
    return str(error).split("\n", maxsplit=1)[0]
