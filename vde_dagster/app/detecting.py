"""Whether a version with late data is behind its source (seed 003): metadata and state alone."""

from __future__ import annotations

from vde_dagster.app.binding import Binding
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.intervals import Interval
from vde_dagster.core.late_data import Decision, NothingToLoad, decide_stateless
from vde_dagster.core.ledger import written_intervals
from vde_dagster.core.names import ModelName
from vde_dagster.core.snapshot import VersionKey


def late_models(binding: Binding) -> tuple[ModelName, ...]:
    """The models of an environment that load late data by sessions."""
    return tuple(node.name for node in binding.graph if node.model.stateless is not None)


def detect(
    services: Services,
    binding: Binding,
    name: ModelName,
    *,
    reload: bool = False,
    within: Interval | None = None,
) -> Decision:
    """What a session of this model would do now. Starts no Spark and writes nothing.

    With ``reload`` it is decided as if there was no mark: everything is overwritten from the source
    as it is now, which becomes the mark. With ``within`` no interval outside of this time
    is begun; all that is held is brought up to date all the same.

    Raises:
        Refused: The model has no late data.
    """
    node = binding.node(name)
    if node.model.stateless is None:
        raise Refused(f"{name} has no late_data property in stateless mode, so it has no sessions.")
    key = binding.key(name)
    source = node.model.stateless.sources[0]
    mark = None if reload else services.state.marks(key).get(source)
    now = services.project_now()
    if now is None:
        return NothingToLoad(reason="the project's clock has no time yet: its sources are empty")
    ends = [each for each in (now, node.model.end, within.end if within else None) if each]
    return decide_stateless(
        mark=mark,
        history=services.catalog.history(source, mark),
        held=loaded_late(services, key),
        start=node.model.start if within is None else max(node.model.start, within.start),
        now=min(ends),
        unit=node.model.unit,
        on_rewrite=node.model.stateless.on_source_rewrite,
    )


def loaded_late(services: Services, key: VersionKey) -> tuple[Interval, ...]:
    """What has rows; late ones are added to an outdated interval, too, until it is made anew."""
    return written_intervals(services.state.ledger([key]).get(key, ()))
