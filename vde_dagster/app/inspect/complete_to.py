"""Up to when a model of an environment has all of its intervals, for whoever reads it."""

from __future__ import annotations

from datetime import datetime

from vde_dagster.app.binding import shown_binding
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.names import ModelName


def complete_to(services: Services, environment: str, name: ModelName) -> datetime | None:
    """The end of the intervals that a model has loaded from its start on, without a gap.

    Rows that came late for one of them may be known and not loaded yet (`vde late status`). No
    Spark is started.

    Args:
        services: The ports.
        environment: Whose version is meant.
        name: The model.

    Returns:
        That instant (UTC); None if the first interval is not loaded.

    Raises:
        Refused: There is no such environment or model, or the model has no intervals.
    """
    binding = shown_binding(services, environment)
    node = binding.node(name)
    if not node.model.kind.is_by_interval:
        raise Refused(f"{name} is {node.model.kind.keyword}, which has no intervals.")
    key, first = binding.key(name), node.model.unit.ceil(node.model.start)
    loaded = services.state.holdings([key]).get(key, NOTHING).computed
    return next((each.end for each in loaded if each.start <= first < each.end), None)
