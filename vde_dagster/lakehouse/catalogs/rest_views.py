"""Views of a REST catalog: each is created, replaced or dropped by a request of its own.

There is no transaction over several views, so a swap that is cut leaves some of them as they were.
Doing the same again changes the others. What a request requires, and why a late one is refused, is
in `view_requests`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final
from uuid import uuid4

from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import RESTError
from requests import RequestException

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict, OutcomeUnknown, Refused, VdeError
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.catalogs.rest_requests import AT_ONCE, Answer, RestRequests, at_once
from vde_dagster.lakehouse.catalogs.view_requests import (
    Outcomes,
    counted_replacement,
    creation,
    cut,
    given_up,
    highest_number,
    is_made_by,
    overtaken,
    replacement,
    shown_by,
    shows_the_same,
)
from vde_dagster.lakehouse.catalogs.views import spark_query
from vde_dagster.lakehouse.catalogs.wanted_views import refused_place, wanted_metadata
from vde_dagster.lakehouse.iceberg.view_metadata import (
    TARGET,
    Json,
    columns_of_fields,
    shown_rows,
    view_fields,
)
from vde_dagster.ports.catalog import NUMBERS_OF_A_SWAP, SwapOvertaken, ViewDefinition

_PAUSE: Final = 0.05
_ATTEMPTS: Final = 4
assert _ATTEMPTS <= NUMBERS_OF_A_SWAP, "each attempt has a number of its own"
_CONFLICT: Final = 409
_MAKES_NO_SENSE: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What becomes of one view: its metadata as they were read, and as they shall be.

    Without the former it is created, without the latter dropped.
    """

    name: TableName
    before: Json | None
    wanted: Json | None


class RestViews:
    """The views of a REST catalog.

    Args:
        catalog: As pyiceberg opened it; its name is the one that queries have.
        state: Gives the id of the state, which the views that it makes carry; empty for none.
    """

    def __init__(self, catalog: RestCatalog, state: Callable[[], str] = str) -> None:
        self._catalog = catalog
        self._state = state
        self._counts = False  # whether the server counts versions of views, whatever is asked for

    @cached_property
    def _requests(self) -> RestRequests:
        requests = RestRequests(self._catalog)
        requests.check_views()
        return requests

    def views(self, names: Collection[TableName]) -> dict[TableName, ViewDefinition]:
        """The views among these names that `swap` made."""
        found: dict[TableName, ViewDefinition] = {}
        for name, metadata in self._loaded(self._there(names)).items():
            target = self._shown(metadata)
            if target is not None:
                found[name] = ViewDefinition(
                    name=name,
                    target=target,
                    columns=columns_of_fields(view_fields(metadata)),
                    visible=shown_rows(metadata, target, self._catalog.name) or "",
                )
        return found

    def query(self, name: TableName) -> tuple[str, tuple[Column, ...]] | None:
        """The query and columns of a view that an engine created; see the port."""
        metadata = self._loaded([name]).get(name)
        if metadata is None or self._shown(metadata) is not None:
            return None
        sql = spark_query(metadata)
        return None if sql is None else (sql, columns_of_fields(view_fields(metadata)))

    def present(self, names: Collection[TableName]) -> frozenset[TableName]:
        """Those of these names that are tables or views: each namespace is listed once."""
        own = self._own(names)
        return self._listed(own, views=False) | self._listed(own, views=True)

    def taken(self, names: Collection[TableName]) -> tuple[TableName, ...]:
        """Those of these names that are tables, or views of other programs."""
        tables = self._listed(self._own(names), views=False)
        views = self._loaded(self._there([each for each in names if each not in tables]))
        theirs = {name for name, each in views.items() if self._shown(each) is None}
        return tuple(name for name in dict.fromkeys(names) if name in tables or name in theirs)

    def swap(
        self,
        views: Sequence[ViewDefinition],
        drops: Sequence[TableName],
        *,
        number: int,
        again: bool,
    ) -> None:
        """Make all views and drop the others, some concurrently; see the port.

        Raises:
            ValueError: A view would be replaced without a number.
        """
        changes = self._changes(views, drops, again=again)
        _refuse_late(changes, number)
        outcomes = Outcomes(every=len(changes))
        try:
            for namespace in sorted({each.name.namespace for each in changes if not each.before}):
                self._requests.ensure_namespace(namespace)
            made = [each for each in changes if each.wanted is not None]
            at_once(partial(self._carry_out, number, outcomes), made)
            dropped = [each for each in changes if each.wanted is None]
            at_once(partial(self._carry_out, number, outcomes), dropped)
        except (Conflict, OutcomeUnknown, Refused) as error:
            raise cut(error, outcomes) from error

    def _changes(
        self, views: Sequence[ViewDefinition], drops: Sequence[TableName], *, again: bool
    ) -> list[_Change]:
        """What is to be done; nothing was written yet.

        Args:
            views: The views that are wanted.
            drops: The names of those that are not.
            again: Whether what is up to date is replaced, too.

        Raises:
            Refused: A name is taken, or a target or one of its columns does not exist.
        """
        wanted = {each.name: each for each in views}
        for name in wanted:
            self._refuse_other_catalog(name)
        loaded = self._loaded([*wanted, *drops])
        ours = {name for name, each in loaded.items() if self._shown(each) is not None}
        absent = [name for name in wanted if name not in loaded]
        tables = self._listed(absent, views=False)
        for name in wanted:
            if name in tables or (name in loaded and name not in ours):
                raise refused_place(name, is_view=name in loaded)
        targets = self._targets({each.target for each in views})
        changes = [self._change(view, loaded.get(view.name), targets) for view in wanted.values()]
        return [each for each in changes if again or not self._is_done(each)] + [
            _Change(name=name, before=loaded[name], wanted=None)
            for name in dict.fromkeys(drops)
            if name in ours and name not in wanted
        ]

    def _change(
        self,
        view: ViewDefinition,
        before: Json | None,
        targets: Mapping[TableName, tuple[bool, Json]],
    ) -> _Change:
        """What becomes of one view."""
        wanted = wanted_metadata(
            view,
            targets.get(view.target),
            before,
            None if before is None else self._shown(before),
            catalog=self._catalog.name,
            location="",
            state=self._state(),
        )
        wanted["properties"][TARGET] = str(view.target)
        return _Change(name=view.name, before=before, wanted=wanted)

    def _is_done(self, change: _Change) -> bool:
        """Whether a view is as it is wanted."""
        before, wanted = change.before, change.wanted
        return bool(before and wanted and shows_the_same(before, wanted, self._catalog.name))

    def _targets(self, names: Collection[TableName]) -> dict[TableName, tuple[bool, Json]]:
        """The metadata of tables and physical views, and whether each is a view."""
        asked = sorted(names)
        tables = dict(zip(asked, at_once(self._requests.table, asked), strict=True))
        found = {name: (False, each["metadata"]) for name, each in tables.items() if each}
        views = self._loaded([name for name in asked if name not in found])
        return found | {name: (True, each) for name, each in views.items()}

    def _carry_out(self, number: int, outcomes: Outcomes, change: _Change) -> None:
        attempts = _Attempts()
        try:
            if change.wanted is None:
                self._drop(attempts, change.name, change.before or {}, number)
            elif change.before is None:
                self._create(attempts, change.name, change.wanted, number)
            else:
                self._replace(attempts, change.name, change.before, change.wanted, number)
        except VdeError as error:
            is_late = isinstance(error, SwapOvertaken) and change.wanted is not None
            if attempts.lost and not is_late:  # what is late is refused whenever it arrives
                outcomes.unknown.append(change.name)
            raise
        outcomes.done.append(change.name)

    def _replace(
        self, attempts: _Attempts, name: TableName, before: Json, wanted: Json, number: int
    ) -> None:
        highest = highest_number(before)
        identifier = {"namespace": [name.namespace], "name": name.name}

        def ask() -> Answer:
            own, request = number + attempts.number, uuid4().hex
            make = counted_replacement if counted else replacement
            body = make(identifier, before, wanted, number=own, request=request)
            answer = self._requests.replace_view(name, body)
            found = answer.document.get("metadata")
            if answer.is_done and found is not None and not is_made_by(found, own, request):
                raise overtaken(name, found)
            return answer

        counted = self._counts
        for _ in attempts.each(name):
            if attempts.is_done(ask):
                self._counts = counted
                return
            found = self._look(name)
            if isinstance(found, VdeError):
                continue
            if found is None or found["view-uuid"] != before["view-uuid"]:
                raise Conflict(f"another process dropped the view {name} in the meantime")
            if highest_number(found) != highest:
                if shows_the_same(found, wanted, self._catalog.name):
                    return
                raise overtaken(name, found)
            counted ^= attempts.status == _MAKES_NO_SENSE

    def _create(self, attempts: _Attempts, name: TableName, wanted: Json, number: int) -> None:
        body = creation(name.name, wanted, number=number)
        for _ in attempts.each(name):
            if attempts.is_done(lambda: self._requests.create_view(name.namespace, body)):
                return
            found = self._look(name)
            if isinstance(found, VdeError):
                continue
            if found is not None and shows_the_same(found, wanted, self._catalog.name):
                return
            if found is not None and self._shown(found) is not None:
                raise overtaken(name, found)
            if found is not None or attempts.status == _CONFLICT:
                raise Conflict(f"another process created {name} in the meantime")

    def _drop(self, attempts: _Attempts, name: TableName, before: Json, number: int) -> None:
        drop = partial(self._requests.drop, name, is_view=True)
        for _ in attempts.each(name):
            found = self._look(name)
            if isinstance(found, VdeError):
                attempts.answer = found
                continue
            if found is None:
                return
            if found["view-uuid"] != before["view-uuid"] or self._shown(found) is None:
                raise Conflict(f"another process recreated the view {name} in the meantime")
            if number and highest_number(found) >= number:
                raise overtaken(name, found)
            if attempts.is_done(drop) or attempts.is_absent:
                return

    def _look(self, name: TableName) -> Json | OutcomeUnknown | None:
        """The metadata of a view after a request of ours; an error if it cannot be known."""
        try:
            found = self._requests.view(name)
        except (RESTError, RequestException) as error:
            return OutcomeUnknown(
                f"the outcome for the view {name} is unknown ({error})",
                advice="retrying is safe",
            )
        return None if found is None else _metadata(found)

    def _loaded(self, names: Collection[TableName]) -> dict[TableName, Json]:
        """The metadata of those of these names that are views."""
        own = self._own(names)
        found = zip(own, at_once(self._requests.view, own), strict=True)
        return {name: _metadata(each) for name, each in found if each is not None}

    def _there(self, names: Collection[TableName]) -> Collection[TableName]:
        """Those of many names that are views; a few are asked for, whether they are there or not.

        Most places in which views of an environment may be have none.
        """
        if len(names) <= AT_ONCE:
            return names
        listed = self._listed(self._own(names), views=True)
        return [each for each in names if each in listed]

    def _listed(self, names: Iterable[TableName], *, views: bool) -> frozenset[TableName]:
        """Those of these names that are views, or tables."""
        wanted: dict[str, set[str]] = {}
        for name in names:
            wanted.setdefault(name.namespace, set()).add(name.name)
        every = sorted(wanted)
        found = at_once(partial(self._requests.names, views=views), every)
        return frozenset(
            TableName(namespace, name)
            for namespace, there in zip(every, found, strict=True)
            for name in wanted[namespace] & there
        )

    def _own(self, names: Collection[TableName]) -> list[TableName]:
        """Those of these names that are in this catalog, each once."""
        return [each for each in dict.fromkeys(names) if not each.catalog]

    def _shown(self, metadata: Json) -> TableName | None:
        return shown_by(metadata, self._catalog.name)

    def _refuse_other_catalog(self, name: TableName) -> None:
        if name.catalog:
            raise Refused(
                f"{name} would need a separate catalog, which only SQL catalogs support; nothing "
                "was changed",
                advice="Set `environment_suffix_target` to schema or table in vde.yaml.",
            )


def _metadata(found: Json) -> Json:
    metadata: Json = found["metadata"]
    metadata.setdefault("properties", {})
    return metadata


class _Attempts:
    """The attempts to change one view.

    ``answer`` is the last one. ``lost`` is whether one was, so that it may still be carried out.
    """

    def __init__(self) -> None:
        self.lost = False
        self.answer: Answer | VdeError | None = None
        self.number = 0

    def each(self, name: TableName) -> Iterator[None]:
        """Wait longer before each attempt, and raise behind the last."""
        for self.number in range(_ATTEMPTS):
            if self.number:
                time.sleep(_PAUSE * 2**self.number)
            yield
        raise given_up(name, self.answer)

    def is_done(self, ask: Callable[[], Answer]) -> bool:
        """Whether the server says that it did what it is asked for now."""
        try:
            self.answer = ask()
        except OutcomeUnknown as error:
            self.answer, self.lost = error, True
            return False
        return self.answer.is_done

    @property
    def status(self) -> int:
        """The status of the last answer; 0 if there is none."""
        return self.answer.status if isinstance(self.answer, Answer) else 0

    @property
    def is_absent(self) -> bool:
        """Whether the last answer is that there is no such view."""
        return isinstance(self.answer, Answer) and self.answer.is_absent


def _refuse_late(changes: Sequence[_Change], number: int) -> None:
    """Refuse a swap that a later one has overtaken before it was started.

    Raises:
        SwapOvertaken: A view has a number that is not lower.
        ValueError: A view would be replaced without a number.
    """
    there = {each.name: each.before for each in changes if each.before is not None}
    if not number and any(each.before and each.wanted for each in changes):
        raise ValueError("a view over REST is replaced by a number: see `State.next_view_number`")
    newest = max(there, key=lambda name: highest_number(there[name]), default=None)
    if number and newest is not None and highest_number(there[newest]) >= number:
        raise cut(overtaken(newest, there[newest]), Outcomes())
