"""Python models: the decorator, and the header that it puts on a function.

Reading a model runs its module once, with nothing of the project on the import path, so that what
the fingerprint hashes (the module) is all that the function can call in the project.
"""

from __future__ import annotations

import ast
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from vde_dagster.core.cron import CronInvalid, unit_of
from vde_dagster.core.dsha import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.intervals import parse_instant
from vde_dagster.core.kind import Full, IncrementalByTimeRange
from vde_dagster.core.model import Model, ModelSource, PythonFunction
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.project.configuration import Defaults
from vde_dagster.project.model_properties import Problems, is_type, make_kind, suggestion

F = TypeVar("F", bound=Callable[..., object])
HEADER: Final = "__vde_model__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What the decorator was given."""

    name: str
    kind: str | Mapping[str, str]
    depends_on: tuple[str, ...]
    columns: Mapping[str, str]
    cron: str | None
    start: str | None
    owner: str
    description: str
    tags: tuple[str, ...]
    grain: tuple[str, ...]


def model(
    name: str,
    *,
    kind: str | Mapping[str, str] = "FULL",
    depends_on: Sequence[str] = (),
    columns: Mapping[str, str],
    cron: str | None = None,
    start: str | None = None,
    owner: str = "",
    description: str = "",
    tags: Sequence[str] = (),
    grain: Sequence[str] = (),
) -> Callable[[F], F]:
    """Declare that a function makes a model's rows, as a Spark (or pandas) data frame.

    Args:
        name: The model's name, ``schema.name``.
        kind: A kind's keyword, or a mapping with ``name`` and the kind's options.
        depends_on: The models and sources that the function may read.
        columns: Every column that it returns with its Spark type, in order.
        cron: When it is due; the project's default where None.
        start: Its first day, as ISO-8601; the project's default where None.
        owner: Who answers for it.
        description: What it is, for people.
        tags: Free words to select by.
        grain: The columns that identify a row.
    """
    texts = {"name": name, "owner": owner, "description": description}
    texts |= {
        f"an item of {option}": each
        for option, values in (("depends_on", depends_on), ("tags", tags), ("grain", grain))
        for each in _listed(option, values)
    }
    given = {**texts, **{key: each for key, each in (("cron", cron), ("start", start)) if each}}
    if isinstance(kind, Mapping):
        given |= {f"the kind's {key}": each for key, each in kind.items()}
    given |= {f"the type of {key}": each for key, each in columns.items()}
    for option, value in given.items():
        if not isinstance(value, str):
            raise TypeError(f"{option} is a text, not {value!r}")
    header = Header(
        name=name,
        kind=kind,
        depends_on=tuple(depends_on),
        columns=dict(columns),
        cron=cron,
        start=start,
        owner=owner,
        description=description,
        tags=tuple(tags),
        grain=tuple(grain),
    )

    def attach(function: F) -> F:
        setattr(function, HEADER, header)
        return function

    return attach


def _listed(option: str, values: Sequence[str]) -> Sequence[str]:
    if isinstance(values, str):
        raise TypeError(f"{option} is a list of texts, not {values!r}")
    return values


def read_python_model(
    source: ModelSource, *, defaults: Defaults, problems: Problems
) -> Model | None:
    """The one model that a module declares; None (and problems) where it cannot be read."""
    found = _declared(source, problems)
    if found is None:
        return None
    function, header, line = found
    place = Place(path=source.path, line=line)
    kind = _kind(header, place, problems)
    name = _parsed_name(header.name, place, problems)
    parents = [_parsed_name(each, place, problems) for each in header.depends_on]
    cron = header.cron or defaults.cron
    try:
        unit = unit_of(cron)
        start = parse_instant(header.start) if header.start else defaults.start
    except CronInvalid as error:
        problems.add(place, str(error))
        return None
    except ValueError:
        problems.add(place, f"start {header.start!r} is no date", "Write it like '2024-01-31'.")
        return None
    columns = {key.lower() for key in header.columns}
    if isinstance(kind, IncrementalByTimeRange) and kind.time_column not in columns:
        message = f"the time column {kind.time_column!r} is not among the columns"
        problems.add(place, message, suggestion(kind.time_column, sorted(columns)))
    for key, written in header.columns.items():
        if not is_type(written):
            advice = "Write a Spark type, such as bigint, string or timestamp."
            problems.add(place, f"{written!r} is no type of the column {key!r}", advice)
    if kind is None or name is None or None in parents:
        return None
    return Model(
        name=name,
        kind=kind,
        body=PythonFunction(source=source.text, function=function),
        source=source,
        place=place,
        parents=tuple(sorted(parent for parent in parents if parent is not None)),
        unit=unit,
        cron=cron,
        start=start,
        columns=tuple(
            Column(name=key.lower(), type=str(value).lower())
            for key, value in header.columns.items()
        ),
        owner=header.owner,
        description=header.description,
        tags=header.tags,
        grains=(tuple(each.lower() for each in header.grain),) if header.grain else (),
    )


def _declared(source: ModelSource, problems: Problems) -> tuple[str, Header, int] | None:
    place = Place(path=source.path)
    try:
        tree = ast.parse(source.text, filename=str(source.path))
    except (SyntaxError, ValueError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        message = f"this is no Python: {error}"
        problems.add(Place(path=source.path, line=line), message, "Check the code at this line.")
        return None
    lines = {node.name: node.lineno for node in tree.body if isinstance(node, ast.FunctionDef)}
    namespace: dict[str, object] = {"__name__": Path(source.path).stem}
    try:
        code = compile(tree, str(source.path), "exec", dont_inherit=True)
        exec(code, namespace)  # noqa: S102 - a user's own code
    except (Exception, SystemExit) as error:  # whatever a user's module raises is its problem
        message = f"the module cannot be run: {type(error).__name__}: {error}"
        place = Place(path=source.path, line=_line_in(source.path, error))
        problems.add(place, message, "Import it in Python to see where it fails.")
        return None
    found = [
        (name, header, lines.get(name, 1))
        for name, value in namespace.items()
        if isinstance(header := getattr(value, HEADER, None), Header)
    ]
    if len(found) != 1:
        problems.add(
            place,
            f"{len(found)} functions of this module have the @model decorator",
            "Give each model a file of its own.",
        )
        return None
    return found[0]


def _line_in(path: Path, error: BaseException) -> int:
    """The last line of the user's module that an error passed; 1 where there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path) and frame.lineno]
    return lines[-1] if lines else 1


def _kind(header: Header, place: Place, problems: Problems) -> Full | IncrementalByTimeRange | None:
    options = dict(header.kind) if isinstance(header.kind, Mapping) else {"name": header.kind}
    keyword = str(options.pop("name", "")).upper()
    kind = make_kind(keyword, options, place=place, problems=problems)
    if kind is None or isinstance(kind, Full | IncrementalByTimeRange):
        return kind
    problems.add(
        place,
        f"a Python model cannot be of kind {keyword}",
        "Use FULL or INCREMENTAL_BY_TIME_RANGE, or write it in SQL.",
    )
    return None


def _parsed_name(text: str, place: Place, problems: Problems) -> ModelName | None:
    try:
        return ModelName.parse(text)
    except InvalidName as error:
        problems.add(place, str(error))
        return None
