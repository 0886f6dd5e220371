"""Publishing: moving a table's `main` to what was staged, by compare-and-set and nothing else.

Rule R4: never a cherry-pick. pyiceberg's transactions are avoided on purpose: their retries rebuild
a change on a head that another process moved.

If `load` says that there is no table, that is certain. For pyiceberg any 404 says so, also that of
a page of something on the way.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError
from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchTableError,
    RESTError,
    ServiceUnavailableError,
)
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.update import (
    AssertCurrentSchemaId,
    AssertRefSnapshotId,
    AssertTableUUID,
    RemoveSnapshotRefUpdate,
    SetCurrentSchemaUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)
from sqlalchemy.exc import DBAPIError

from vde_dagster.core.clean_up.expiry import REPAIR_TAG
from vde_dagster.core.errors import Conflict, OutcomeUnknown
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.iceberg.table_heads import schema_of_recorded
from vde_dagster.ports.catalog import TableMoved

if TYPE_CHECKING:
    from pyiceberg.catalog.rest import RestCatalog

LOST = (DBAPIError, RESTError, OSError, ValidationError, NotImplementedError)
"""What pyiceberg raises where it is not known whether a commit was made.

The last two are its errors for a page with the status 200, and for any answer 501.
"""


def load(catalog: PyIcebergCatalog, name: TableName) -> Table:
    """A table with its newest metadata.

    Raises:
        NoSuchTableError: The catalog itself says that there is none.
        RESTError: It does not say whether there is one.
        RequestException: There was no answer.
    """
    try:
        return catalog.load_table((name.namespace, name.name))
    except (NoSuchTableError, ValidationError) as error:
        if _is_there(catalog, name) and isinstance(error, NoSuchTableError):
            raise ServiceUnavailableError(
                f"the catalog reports both that {name} exists and that it does not"
            ) from error
        raise


def _is_there(catalog: PyIcebergCatalog, name: TableName) -> bool:
    """Whether a REST catalog says that there is a table; False for other sorts of catalogs."""
    rest = as_rest(catalog)
    if rest is None:
        return False
    from vde_dagster.lakehouse.catalogs.rest_requests import RestRequests

    return RestRequests(rest).table(name) is not None


def as_rest(catalog: PyIcebergCatalog) -> RestCatalog | None:
    """A catalog, if it is a REST catalog."""
    if "pyiceberg.catalog.rest" not in sys.modules:  # then it is none, and nothing is loaded
        return None
    from pyiceberg.catalog.rest import RestCatalog

    return catalog if isinstance(catalog, RestCatalog) else None


_ATTEMPTS = 6
_PAUSE = 0.05
_PREFIX: Final = "w_"

Change = tuple[tuple[TableRequirement, ...], tuple[TableUpdate, ...]]
"""What a commit requires of the table, and what it changes."""


def branch_name(work_id: str) -> str:
    """The branch on which a unit of work stages."""
    return f"{_PREFIX}{work_id}"


def publish(catalog: PyIcebergCatalog, name: TableName, *, base: int | None, staged: int) -> None:
    """Move ``main`` from ``base`` to ``staged``; nothing to do if ``main`` has passed it already.

    Work that changed nothing is staged at its base, so ``main`` must still be there.

    The branch of a unit of work has to be at ``staged``, and is removed in the same commit. So a
    process that drops the branch can be sure that none publishes it any more, not even a process
    that was paused before its commit.

    Raises:
        TableMoved: ``main`` is elsewhere, ``staged`` does not descend from ``base``, or its branch
            was dropped.
        Conflict: Others change the table all the time; nothing was published.
        OutcomeUnknown: The answer was lost, and the table could not be read again.
    """

    def change(table: Table) -> Change | None:
        head = _head(table)
        if head == staged or (staged != base and _descends(table, head, staged)):
            return None
        if head != base:
            raise TableMoved(
                f"{name} moved from Iceberg snapshot {base} to {head} while {staged} was staged; "
                "nothing was published"
            )
        if not _descends(table, staged, base):
            raise TableMoved(
                f"the staged Iceberg snapshot {staged} of {name} is missing or does not descend "
                f"from {base}; nothing was published"
            )
        at_staged = (name for name, ref in table.metadata.refs.items() if ref.snapshot_id == staged)
        branch = next((name for name in at_staged if name.startswith(_PREFIX)), None)
        if branch is None:
            raise TableMoved(
                f"no branch of {name} points to the staged Iceberg snapshot {staged} any more: "
                "its unit of work was given up; nothing was published"
            )
        kept = table.metadata.refs.get(MAIN_BRANCH)
        return (
            (
                AssertTableUUID(uuid=table.metadata.table_uuid),
                _ref_is(MAIN_BRANCH, base),
                _ref_is(branch, staged),
            ),
            (
                _set_branch(MAIN_BRANCH, staged, kept),
                RemoveSnapshotRefUpdate.model_validate({"ref-name": branch}),
            ),
        )

    commit(catalog, name, change, what=f"the publication of {staged} in {name}")


def restore(
    catalog: PyIcebergCatalog, name: TableName, *, found: int | None, recorded: int
) -> None:
    """Move ``main`` from ``found`` to ``recorded``, wherever that is; see the port.

    Unlike Spark's `rollback_to_snapshot`, it need be no ancestor of the current one.

    Raises:
        TableMoved: ``main`` is elsewhere, or ``recorded`` has expired.
        Conflict: Others change the table all the time; nothing was changed.
        OutcomeUnknown: The answer was lost, and the table could not be read again.
    """

    def change(table: Table) -> Change | None:
        head = _head(table)
        schema = schema_of_recorded(table, recorded)
        if head == recorded and schema is None:
            return None
        if head != found:
            raise TableMoved(f"{name} moved to the Iceberg snapshot {head}; nothing was changed")
        if table.metadata.snapshot_by_id(recorded) is None:
            raise TableMoved(
                f"the Iceberg snapshot {recorded} of {name} has expired; nothing was changed"
            )
        kept = table.metadata.refs.get(MAIN_BRANCH)
        updates: list[TableUpdate] = [_set_branch(MAIN_BRANCH, recorded, kept)]
        if found is not None and not _descends(table, recorded, found):
            tag = {"ref-name": f"{REPAIR_TAG}{found}", "type": SnapshotRefType.TAG}
            updates.append(SetSnapshotRefUpdate.model_validate({**tag, "snapshot-id": found}))
        present = table.metadata.current_schema_id
        needed = (
            AssertTableUUID(uuid=table.metadata.table_uuid),
            AssertCurrentSchemaId.model_validate({"current-schema-id": present}),
            _ref_is(MAIN_BRANCH, found),
        )
        if schema is not None:
            updates.append(SetCurrentSchemaUpdate.model_validate({"schema-id": schema}))
        return needed, tuple(updates)

    commit(catalog, name, change, what=f"the return of {name} to {recorded}")


def put_branch(found: Table, name: TableName, work_id: str, iceberg_snapshot_id: int) -> None:
    """Put the branch of a unit of work at an Iceberg snapshot, wherever it was.

    Args:
        found: The table, as it was read.
        name: Its name.
        work_id: The unit of work: no other process changes its branch.
        iceberg_snapshot_id: One that the table has.

    Raises:
        TableMoved: The table or its Iceberg snapshot does not exist any more.
        Conflict: Others change the table all the time; nothing was changed.
        OutcomeUnknown: The answer was lost, and the table could not be read again.
    """
    branch = branch_name(work_id)

    def change(table: Table) -> Change | None:
        there = table.metadata.refs.get(branch)
        at = None if there is None else there.snapshot_id
        if at == iceberg_snapshot_id:
            return None
        if table.metadata.snapshot_by_id(iceberg_snapshot_id) is None:
            raise TableMoved(f"{name} no longer has the Iceberg snapshot {iceberg_snapshot_id}")
        return (
            (AssertTableUUID(uuid=table.metadata.table_uuid), _ref_is(branch, at)),
            (_set_branch(branch, iceberg_snapshot_id, there),),
        )

    commit(found.catalog, name, change, what=f"the branch {branch} of {name}", found=found)


def drop_branch(catalog: PyIcebergCatalog, name: TableName, work_id: str) -> None:
    """Remove the branch of a unit of work; nothing to do where there is none.

    Raises:
        OutcomeUnknown: The answer was lost, and the table could not be read again.
    """
    branch = branch_name(work_id)
    _drop_ref(catalog, name, branch, what=f"the removal of branch {branch} of {name}")


def drop_tag(
    catalog: PyIcebergCatalog, name: TableName, tag: str, iceberg_snapshot_id: int
) -> None:
    """Remove a tag, if it still is at an Iceberg snapshot.

    Raises:
        Conflict: Others change the table all the time; nothing was changed.
        OutcomeUnknown: The answer was lost, and the table could not be read again.
    """
    what = f"the removal of the tag {tag} of {name}"
    _drop_ref(catalog, name, tag, what=what, at=iceberg_snapshot_id)


def _drop_ref(
    catalog: PyIcebergCatalog, name: TableName, ref: str, *, what: str, at: int | None = None
) -> None:
    """Remove a branch or tag; nothing to do where there is none, or if it is elsewhere."""

    def change(table: Table) -> Change | None:
        found = table.metadata.refs.get(ref)
        if found is None or at not in (None, found.snapshot_id):
            return None
        return (
            (AssertTableUUID(uuid=table.metadata.table_uuid), _ref_is(ref, found.snapshot_id)),
            (RemoveSnapshotRefUpdate.model_validate({"ref-name": ref}),),
        )

    with suppress(TableMoved):  # there is no such table
        commit(catalog, name, change, what=what)


def branches(table: Table) -> tuple[str, ...]:
    """The units of work that have a branch of a table."""
    names = [name for name in table.metadata.refs if name.startswith(_PREFIX)]
    return tuple(name.removeprefix(_PREFIX) for name in names)


def commit(
    catalog: PyIcebergCatalog,
    name: TableName,
    change: Callable[[Table], Change | None],
    *,
    what: str,
    found: Table | None = None,
) -> None:
    """Decide on the newest metadata and commit, until it is done or the decision refuses.

    ``found`` is the table, where it was read a moment ago: that is tried first.

    After a commit that failed or whose answer was lost, ``change`` decides again on what is there.
    It returns None if there is nothing to do.

    Raises:
        TableMoved: The table does not exist any more.
        Conflict: Others change it all the time; nothing was changed.
        OutcomeUnknown: The answer was lost, and the table could not be read again, or is missing
        now.
    """

    def act(table: Table) -> None:
        wanted = change(table)
        if wanted is not None:
            done = catalog.commit_table(table, *wanted)
            if isinstance(catalog, MetastoreCatalog):  # a server does it by itself
                catalog._delete_old_metadata(table.io, table.metadata, done.metadata)  # noqa: SLF001

    until_done(catalog, name, act, what=what, found=found)


def until_done(
    catalog: PyIcebergCatalog,
    name: TableName,
    act: Callable[[Table], object],
    *,
    what: str,
    found: Table | None = None,
) -> None:
    """Decide on the newest metadata, and commit: again and again, as long as another process did.

    Raises as `commit`.
    """
    lost: Exception | None = None
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE * 2**attempt)
        try:
            act(load(catalog, name) if attempt or found is None else found)
            return
        except NoSuchTableError as error:
            if lost is not None:  # it may have been done before the table was dropped
                break
            raise TableMoved(f"{name} no longer exists") from error
        except CommitFailedException:  # not committed; another process was
            continue
        except LOST as error:
            lost = error
    if lost is None:
        raise Conflict(f"other processes keep changing {name}; nothing was done: {what}")
    raise OutcomeUnknown(
        f"the answer to {what} was lost ({lost})", advice="check the table before you retry"
    ) from lost


def _set_branch(branch: str, snapshot_id: int, kept: SnapshotRef | None) -> SetSnapshotRefUpdate:
    """Move a branch, keeping what it says about its retention."""
    return SetSnapshotRefUpdate.model_validate(
        {
            "ref-name": branch,
            "type": SnapshotRefType.BRANCH,
            "snapshot-id": snapshot_id,
            "max-ref-age-ms": kept.max_ref_age_ms if kept else None,
            "max-snapshot-age-ms": kept.max_snapshot_age_ms if kept else None,
            "min-snapshots-to-keep": kept.min_snapshots_to_keep if kept else None,
        }
    )


def _ref_is(ref: str, snapshot_id: int | None) -> AssertRefSnapshotId:
    return AssertRefSnapshotId.model_validate({"ref": ref, "snapshot-id": snapshot_id})


def _head(table: Table) -> int | None:
    snapshot = table.metadata.current_snapshot()
    return None if snapshot is None else snapshot.snapshot_id


def _descends(table: Table, snapshot_id: int | None, ancestor: int | None) -> bool:
    """Whether a retained snapshot is, or descends from, an ancestor (None: the empty table)."""
    parents = {each.snapshot_id: each.parent_snapshot_id for each in table.metadata.snapshots}
    if snapshot_id not in parents:
        return snapshot_id is None and ancestor is None
    current: int | None = snapshot_id
    while current != ancestor:
        if current is None or current not in parents:
            return False
        current = parents[current]
    return True
