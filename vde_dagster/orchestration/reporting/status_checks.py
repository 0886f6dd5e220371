"""The state of each model and source as Dagster's asset checks, found from metadata without Spark.

They stand beside the checks of the audits, which look at rows
(`vde_dagster.orchestration.reporting.checks`).
"""

# No `from __future__ import annotations`: Dagster reads the annotation of `context` as an object.
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.inspect.status import (
    EnvironmentStatus,
    LateRows,
    ModelStatus,
    late_rows_not_loaded,
    look_at_environment,
)
from vde_dagster.app.inspect.verify import TableLook, look_at_tables
from vde_dagster.app.services import Services
from vde_dagster.core.errors import VdeError
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.late.pending import loading_arguments, pending_text
from vde_dagster.core.listing import first
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, format_instant, merge
from vde_dagster.orchestration.assets.metadata import Metadata
from vde_dagster.orchestration.failures import failures
from vde_dagster.orchestration.keys import AssetKey, CheckKey, EventKey
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.reporting.checks import Checked

_MOST_SHOWN: Final = 20
"""How many ranges the metadata of a check names."""


class StatusCheck(StrEnum):
    """What is checked of a model or source; the values are the names of the checks."""

    MISSING = "vde_no_missing_intervals"
    STALE = "vde_not_stale"
    FOREIGN = "vde_no_foreign_write"
    SCHEMA = "vde_schema"

    @property
    def is_of_table(self) -> bool:
        """Whether it is found in the table, and not in the state of the environment."""
        return self in (StatusCheck.FOREIGN, StatusCheck.SCHEMA)


_DESCRIPTIONS: Final = {
    StatusCheck.MISSING: "Every interval that is due and can be computed is loaded.",
    StatusCheck.STALE: "No input is late or has changed since it was computed.",
    StatusCheck.FOREIGN: "Its table is as published: not written to or dropped outside vde.",
    StatusCheck.SCHEMA: "Its table has the columns and types that are recorded for a "
    "model, or declared for a source.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Checked):
    """What one check of a model or source found."""

    name: ModelName
    check: StatusCheck


def checks_of(node: Node) -> tuple[StatusCheck, ...]:
    """What is checked of a model or source."""
    if node.model.kind.is_source:
        return (StatusCheck.SCHEMA,) if node.columns else ()
    if node.model.kind.stores_rows:
        return tuple(StatusCheck)
    return ()


def build_status_checks(location: Location) -> list[dg.AssetChecksDefinition]:
    """The checks of all models and sources of an environment, evaluated together in one step.

    That step looks once, however many of them are selected.
    """
    specs = {
        dg.AssetCheckKey(location.key(node.name), check.value): (node.name, check)
        for node in location.binding.graph
        for check in checks_of(node)
    }
    if not specs:
        return []

    @dg.multi_asset_check(
        name=f"vde_status_of_{location.environment}",
        specs=[
            dg.AssetCheckSpec(name=key.name, asset=key.asset_key, description=_DESCRIPTIONS[check])
            for key, (_, check) in specs.items()
        ],
        can_subset=True,
        description=f"Compares {location.environment} with its clock, inputs and tables.",
    )
    def status(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        selected = {specs[key] for key in context.selected_asset_check_keys}
        with failures():
            services = location.project.services
            binding = bind_environment(services, location.environment) or location.binding
            found = list(found_in(services, binding, selected))
        for each in found:
            yield each.for_step(location.key(each.name))

    return [status]


Selected = Collection[tuple[ModelName, StatusCheck]]


def found_in(services: Services, binding: Binding, selected: Selected) -> Iterator[Found]:
    """What these checks find now.

    Of an environment that shows nothing yet, nothing is found missing or stale.
    """
    wanted = {each for each in selected if each[0] in binding.graph}
    names = {name for name, check in wanted if not check.is_of_table}
    if names and services.state.revision(binding.environment):
        status = look_at_environment(services, binding.environment)
        found = found_of_environment(status, names, late_rows_not_loaded(services, binding))
        yield from (each for each in found if (each.name, each.check) in wanted)
    tables = sorted({name for name, check in wanted if check.is_of_table})
    found_of = found_of_tables(services, binding, tables)
    yield from (each for each in found_of if (each.name, each.check) in wanted)


def found_of_tables(
    services: Services, binding: Binding, names: Iterable[ModelName]
) -> Iterator[Found]:
    """What a look at the tables of these models and sources says.

    If the metadata of one cannot be read, that is what its checks say: it is not known how it is.
    """
    for name in names:
        try:
            for look in look_at_tables(services, binding, [name]):
                yield from found_of_table(look)
        except (VdeError, OSError, ValueError) as error:  # of the catalog, and of its storage
            for check in checks_of(binding.graph[name]):
                if check.is_of_table:
                    text = f"it could not be checked: {type(error).__name__}: {error}"
                    yield Found(name=name, check=check, passed=False, text=text)


def found_of_environment(
    status: EnvironmentStatus, names: Iterable[ModelName], late: Mapping[ModelName, LateRows]
) -> Iterator[Found]:
    """What a look at an environment says of these models.

    Args:
        status: The look.
        names: The models.
        late: What is known of their sources and not loaded.
    """
    models = {each.node.name: each for each in status.models}
    for name in sorted(names):
        yield _missing(name, models.get(name), status.environment)
        yield _stale(name, models.get(name), late.get(name), status.environment)


def found_of_table(look: TableLook) -> Iterator[Found]:
    """What a look at a table says of its model or source."""
    metadata: Metadata = {AssetKey.TABLE_NAME: str(look.table)}
    name = look.node.name
    if not look.node.model.kind.is_source:
        yield Found(
            name=name,
            check=StatusCheck.FOREIGN,
            passed=not look.foreign_write,
            text=look.foreign_write or f"{look.table} is as published.",
            severity=dg.AssetCheckSeverity.ERROR,
            metadata=metadata,
        )
    wrong = "the table is missing" if look.is_gone else "; ".join(look.schema)
    yield Found(
        name=name,
        check=StatusCheck.SCHEMA,
        passed=not wrong,
        text=f"{look.table}: {wrong}" if wrong else f"{look.table} has its columns.",
        severity=dg.AssetCheckSeverity.ERROR,
        metadata=metadata,
    )


def _missing(name: ModelName, model: ModelStatus | None, environment: str) -> Found:
    due = model.due if model is not None else ()
    waits = [*map(str, model.waits)] if model is not None else []
    lost = model.lost if model is not None else None
    if lost is not None and lost.damage:
        text = lost.told.removesuffix(".")
    elif lost is not None:
        text = f"All loaded rows are missing: {lost.table} was dropped outside vde"
    elif due:
        # The end moves with the clock, and is not news.
        first = format_instant(due[0].start)
        text = f"Intervals due from {first} on are missing: {_next(model, environment)}"
    elif waits:
        text = "Nothing that can be computed now is missing"
    else:
        text = "Nothing is missing"
    metadata: Metadata = {CheckKey.MISSING_INTERVALS: _ranges(due)} if due else {}
    if waits:
        metadata[CheckKey.WAITS] = "; ".join(waits)
    passed = not due and lost is None
    return Found(
        name=name, check=StatusCheck.MISSING, passed=passed, text=f"{text}.", metadata=metadata
    )


def _stale(
    name: ModelName, model: ModelStatus | None, late: LateRows | None, environment: str
) -> Found:
    texts: dict[str, str] = {}
    metadata: Metadata = {}
    if model is not None and model.staleness is not None:
        stale = model.staleness
        times = merge((*stale.intervals, *stale.kept))
        metadata[CheckKey.STALE_INTERVALS] = _ranges(times)
        if stale.since is not None:
            metadata[CheckKey.STALE_SINCE] = dg.MetadataValue.timestamp(stale.since)
        since = f"from {format_instant(times[0].start)} on " if times else ""
        texts["why"] = f"Intervals {since}are stale: {stale.reason}"
        texts["next"] = stale.why_kept or _next(model, environment)
    if late is not None:
        metadata[EventKey.PENDING] = pending_text(late.pending)
        texts["pending"] = _not_loaded(late, environment)
    text = "; ".join(each for each in texts.values() if each)
    return Found(
        name=name,
        check=StatusCheck.STALE,
        passed=not text,
        text=text or "No input has changed since it was computed.",
        metadata=metadata,
    )


def _next(model: ModelStatus | None, environment: str) -> str:
    """What computes a model that is behind, or what a person has to say first (rule R8)."""
    refused = model.refused if model is not None else ""
    return refused.rstrip(".") or f"`vde run {environment}` computes them"


def _not_loaded(late: LateRows, environment: str) -> str:
    """What no session loads of the late rows that are known, and the command that does.

    What only waits for a source that is not complete yet is left out. There is no command where the
    environment that may load them does not show the model.
    """
    owner = late.owner or environment
    commands = [(each, loading_arguments(late.name, owner, each)) for each in late.pending]
    found = [(each, " ".join(named)) for each, named in commands if named is not None]
    if not found:
        return ""
    text = f"late rows of {pending_text([each for each, _ in found])} are not loaded"
    words = found[0][1]
    if late.filler is not None and not late.filler.shows:
        return text
    if len(found) == 1:
        return f"{text}: `vde {words}` loads them"
    return f"{text}: `vde late status {late.name} --env {owner}` shows the commands that load them"


def _ranges(intervals: Iterable[Interval]) -> str:
    return ", ".join(first([*map(str, intervals)], _MOST_SHOWN))
