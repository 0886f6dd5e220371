"""Listing what sessions did in the tables that people query.

The state notes what is to be listed in the transaction that ends a session or moves a mark, and
forgets it once it is in the tables. So the next process lists what a process that died did not.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict
from vde_dagster.core.ledger.late.listed import ListedMark, listed_marks, listed_session
from vde_dagster.ports.late_tables import LateTables
from vde_dagster.ports.records import Unlisted
from vde_dagster.runtime.secrets import without_secrets

_BATCH: Final = 100
RESOURCE: Final = "late data tables"
"""The name of the lease under which the tables are written."""
_LOG = logging.getLogger(__name__)


@contextmanager
def late_data_listed(services: Services) -> Iterator[None]:
    """List what sessions in a ``with`` block did, all at once when it ends, however it ends."""
    try:
        yield
    finally:
        list_late_data(services)


def list_late_data(services: Services) -> None:
    """Bring the tables of late data up to date. Cheap if they are.

    What is recorded stays recorded whatever happens to the tables: if they cannot be written, or
    the state does not say what is missing there, that is a warning, and the next run or tick of a
    sensor tries again.
    """
    tables = services.late_tables
    if tables is None:
        return
    try:
        if not services.state.unlisted(limit=1):
            return
        with services.lease(RESOURCE, "list late data"):
            while found := services.state.unlisted(limit=_BATCH):
                _list(services, tables, found)
    except Conflict:
        return  # another process lists them
    except Exception as error:
        why = without_secrets(str(error))
        _LOG.warning("the tables of late data could not be brought up to date yet: %s", why)


def _list(services: Services, tables: LateTables, found: tuple[Unlisted, ...]) -> None:
    works = services.state.works(each.session_id for each in found if each.session_id)
    keys = tuple(dict.fromkeys(each.key for each in found if not each.session_id))

    def marks() -> tuple[ListedMark, ...]:
        return tuple(
            mark for key in keys for mark in listed_marks(key, services.state.mark_moves(key))
        )

    tables.add_sessions([listed_session(each) for each in works.values()])
    tables.set_marks(keys, marks)
    services.state.record_listed(each.number for each in found)
