"""Which versions of the schema a release works with, and what it says about the others."""

from __future__ import annotations

from vde_dagster.core.errors import Refused
from vde_dagster.state import schema


def refuse_newer(found: int) -> None:
    """Refuse a state that this release cannot read.

    Raises:
        Refused: It was written by a newer release.
    """
    if found > schema.VERSION:
        raise Refused(
            f"the state has schema version {found}, this release of vde_dagster reads up to "
            f"{schema.VERSION}",
            advice="install the release that wrote it, or a newer one",
        )


def refuse_earlier(found: int) -> None:
    """Refuse a state that has to be moved forward before this release can use it.

    Raises:
        Refused: It was written by an earlier release.
    """
    if 0 < found < schema.VERSION:
        raise Refused(
            f"the state has schema version {found}, and this release of vde_dagster works with "
            f"{schema.VERSION}. Nothing was written",
            advice="Once nothing of the earlier release runs any more, `vde state migrate` moves "
            "it forward; from then on the earlier release refuses it.",
        )
