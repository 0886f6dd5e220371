"""Rows that a user's own asset returned, written to a version of their own (ADR 14).

It is one unit of work like that of a model: staged, audited, published and recorded once. The
asset has computed its rows before; so nothing is reused, and a second try replaces the same rows.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Final, Literal

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import recovering
from vde_dagster.app.evaluate.pinned_reading import PinnedReading
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.evaluate.units_of_work import run_unit_of_work
from vde_dagster.app.publish.shown_views import numbered
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import naming_of
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import build_graph
from vde_dagster.core.ledger.holdings import NOTHING, Holding
from vde_dagster.core.ledger.unit_of_work import FrameRows
from vde_dagster.core.model.fingerprint import fingerprint
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import TableName, environment_view, model_of
from vde_dagster.core.time.intervals import ALWAYS, Interval, subtract
from vde_dagster.ports.catalog import ViewDefinition

_LOG: Final = logging.getLogger(__name__)
UNKNOWN: Final[Literal["unknown"]] = "unknown"
"""It is not known what a view showed when the code was loaded."""


def own_binding(model: Model, environment: str) -> Binding:
    """What is read and written of an asset that returns rows: its one version."""
    found = fingerprint(model, None, ())
    snapshot = ModelSnapshot(
        name=model.name,
        fingerprint=found,
        version=found.data_version,
        category=None,
        reasons=(),
        source=model.source,
    )
    return Binding(
        environment=environment,
        revision=0,
        graph=build_graph([model]),
        snapshots={model.name: snapshot},
    )


def write_rows(
    services: Services,
    binding: Binding,
    model: Model,
    frame: object,
    interval: Interval | None,
    *,
    place: str,
    replaces: TableName | Literal["unknown"] | None = UNKNOWN,
) -> Evaluated:
    """Stage, audit, publish and record what an asset returned, and let its view show it.

    Args:
        services: The ports.
        binding: From `own_binding`.
        model: What the asset says about its table.
        frame: All of its rows, or those of the interval.
        interval: The time of its partitions; None where it has none.
        place: The asset, for people.
        replaces: What the view showed when the code of the asset was loaded, None for no view. If
            it shows another version by now, newer code was first, and it stays. `UNKNOWN` is what
            it shows now, before anything is written.

    Raises:
        Refused: The name of its view is taken by a table.
        Conflict: Another process writes this version right now.
        EvaluationFailed: The rows do not fit, or an audit found bad ones; readers see what they
            saw before.
    """
    key, node = binding.key(model.name), binding.node(model.name)
    view = environment_view(
        model.name, binding.environment, naming_of(services, binding.environment)
    )
    if services.catalog.taken([view]):
        raise Refused(
            f"{place} cannot be shown as {view}: that is a table of another program",
            advice="Use another key for the asset.",
        )
    before = _target(services, view) if replaces == UNKNOWN else replaces
    wanted = interval or ALWAYS
    with recovering(services, binding, key) as (lease, _):
        now = services.execution_time
        rows = FrameRows(frame=frame, place=place)
        prepared = PreparedUnit(
            work_id=services.ids.new(),
            interval=wanted,
            readings=(PinnedReading(rows=rows, inputs={}, pinned={}),),
            writes=(node.write(wanted, now),),
            may_empty=True,  # what a person's own code returns is what was asked for
        )
        done = run_unit_of_work(services, binding, node, prepared, lease)
    numbered(services, partial(_show, services, view, key, before))
    return done


def shown_table(services: Services, binding: Binding, model: Model) -> TableName | None:
    """What the view of an asset shows; None if there is none."""
    environment = binding.environment
    return _target(
        services, environment_view(model.name, environment, naming_of(services, environment))
    )


def _target(services: Services, view: TableName) -> TableName | None:
    found = services.catalog.view(view)
    return found.target if found is not None else None


def _show(
    services: Services, name: TableName, key: VersionKey, before: TableName | None, number: int
) -> None:
    """Let the view show a version, once that has loaded all that the shown one has.

    It is left alone where it shows neither the version nor what it showed ``before``.
    """
    shown = services.catalog.view(name)
    if shown is not None and shown.target not in (key.table, before):
        _LOG.info(
            "%s still shows %s, which newer code has written in the meantime", name, shown.target
        )
        return
    loaded = services.state.holdings([key]).get(key, NOTHING)
    if shown is not None and (lacks := _lacks(services, key, shown.target, loaded)):
        missing = ", ".join(map(str, lacks))
        _LOG.info("%s still shows %s: %s lacks %s", name, shown.target, key.table, missing)
        return
    view = ViewDefinition(name=name, target=key.table, columns=loaded.columns)
    if view != shown:
        services.catalog.swap_views([view], (), number=number)


def _lacks(
    services: Services, key: VersionKey, shown: TableName, loaded: Holding
) -> tuple[Interval, ...]:
    """What another version of the same asset, which is shown, has loaded and this one has not."""
    if shown == key.table or model_of(shown) != key.model:
        return ()
    before = VersionKey(key.model, shown.name[-_VERSION_LENGTH:])
    return subtract(
        services.state.holdings([before]).get(before, NOTHING).computed, loaded.computed
    )


_VERSION_LENGTH: Final = 32
