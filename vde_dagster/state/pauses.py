"""Paused models. Functions of one transaction each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, delete, select

from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.pauses import Pause
from vde_dagster.state import codec, schema
from vde_dagster.state.database import chunks, upsert

_pauses = schema.pauses


def pauses(connection: Connection, environment: str) -> Mapping[ModelName, Pause]:
    """The paused models of an environment."""
    own = select(_pauses).where(_pauses.c.environment == environment)
    found = [
        Pause(
            environment=row.environment,
            model=codec.decode_model(row.model),
            paused_at=codec.decode_instant(row.paused_at),
            author=row.author,
            reason=row.reason,
        )
        for row in connection.execute(own.order_by(_pauses.c.model))
    ]
    return {each.model: each for each in found}


def pause(connection: Connection, pauses: Sequence[Pause]) -> None:
    """Pause models, all or none."""
    rows = [
        {
            "environment": each.environment,
            "model": codec.encode_model(each.model),
            "paused_at": codec.encode_instant(each.paused_at),
            "author": each.author,
            "reason": each.reason,
        }
        for each in pauses
    ]
    upsert(connection, _pauses, rows)


def resume(connection: Connection, environment: str, models: Iterable[ModelName]) -> None:
    """End the pauses of models, all or none."""
    for chunk in chunks(map(codec.encode_model, models)):
        connection.execute(
            delete(_pauses)
            .where(_pauses.c.environment == environment)
            .where(_pauses.c.model.in_(chunk))
        )
