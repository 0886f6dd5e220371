"""All physical tables and views of a REST catalog, and dropping one with its files.

A REST catalog says where tables are one by one, so looking at all of them takes a request for each.
Those in namespaces that are in others are looked at as well: their files may be anywhere, and views
may read anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial

from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import BadRequestError, NoSuchNamespaceError, NoSuchTableError, RESTError
from pyiceberg.typedef import Identifier
from requests import RequestException

from vde_dagster.core.errors import Conflict, OutcomeUnknown, Refused
from vde_dagster.core.names import PHYSICAL_PREFIX, TableName
from vde_dagster.lakehouse.catalogs.rest_requests import RestRequests, at_once
from vde_dagster.lakehouse.iceberg.publish import load
from vde_dagster.lakehouse.iceberg.view_metadata import Json
from vde_dagster.lakehouse.upkeep.physical_layer import (
    beside,
    by_folder,
    deletion,
    plain,
    refuse_another_folder,
    refuse_shared,
    stored_table,
    stored_view,
)
from vde_dagster.ports.physical_layer import StoredTable


class RestPhysicalLayer:
    """Implements `vde_dagster.ports.physical_layer.PhysicalLayer` in a REST catalog.

    Args:
        catalog: As pyiceberg opened it; its properties open the files.
    """

    def __init__(self, catalog: RestCatalog) -> None:
        self._catalog = catalog

    @cached_property
    def _requests(self) -> RestRequests:
        requests = RestRequests(self._catalog)
        requests.check_views()
        return requests

    def tables(self) -> Iterator[StoredTable]:
        """All tables and views in the schemas of physical tables, by name."""
        every = self._entries()
        inside = by_folder((name, at) for name, (at, _) in every.items())
        ours = [name for name in every if name.namespace.startswith(PHYSICAL_PREFIX)]
        described = at_once(lambda name: self._described(name, every[name][1]), ours)
        for name, found in zip(ours, described, strict=True):
            if found is not None:
                shared = beside(name, inside.get(plain(found.location), ()))
                yield replace(found, beside=shared)

    def stored(self, name: TableName) -> StoredTable | None:
        """A table or view by its name; None if there is none."""
        found = self._found(name)
        if found is None:
            return None
        return replace(found, beside=self._beside_of(name, found.location))

    def reading_views(self) -> Iterator[StoredTable]:
        """All views elsewhere that name something there."""
        elsewhere = (e for e in self._namespaces() if not e.startswith(PHYSICAL_PREFIX))
        names = self._names(elsewhere, views=True)
        yield from (each for each in at_once(self._reading, names) if each is not None)

    def _reading(self, name: TableName) -> StoredTable | None:
        """A view that names something in the schemas of physical tables; None for any other."""
        found = self._readable(name, is_view=True)
        view = None if found is None else stored_view(self._spelled(name), found["metadata"])
        return view if view is not None and PHYSICAL_PREFIX in view.text else None

    def metadata_location(self, name: TableName) -> str | None:
        """The metadata file of a table or view; None if there is none of this name.

        Raises:
            Refused: The catalog does not say which file that is.
        """
        found = self._requests.table(name) or self._requests.view(name)
        if found is not None and not found.get("metadata-location"):
            raise Refused(
                f"the catalog does not report the metadata file of {name}, so its orphan files "
                "cannot be determined"
            )
        return None if found is None else str(found["metadata-location"])

    def drop(self, name: TableName, *, uuid: str, location: str) -> bool:
        """Drop a table or view with its files; see the port.

        A request to drop requires nothing of what it drops, so it is looked at right before.
        """
        refuse_another_folder(name, location)
        refuse_shared(name, location, self._beside_of(name, location))
        deleted = deletion(self._catalog, name, location)
        found = self._found(name)
        if found is not None and found.uuid != uuid:
            return False
        if found is not None:
            self._drop(name, is_view=found.is_view)
        deleted()
        return True

    def _drop(self, name: TableName, *, is_view: bool) -> None:
        answer = self._requests.drop(name, is_view=is_view)
        if not (answer.is_done or answer.is_absent):
            raise Conflict(
                f"the catalog did not drop {name} ({answer.status}: {answer.said}); nothing was "
                "dropped"
            )

    def _beside_of(self, name: TableName, location: str) -> str:
        """The name of another table or view whose files are in a folder; empty for none."""
        places = ((each, at) for each, (at, _) in self._entries().items())
        return beside(name, by_folder(places).get(plain(location), ()))

    def _namespaces(self) -> list[str]:
        """All namespaces, also those in others, as addresses have them."""
        level, found = self._inside(()), set[str]()
        while level:
            found.update(map(self._requests.joined, level))
            level = [each for inside in at_once(self._inside, level) for each in inside]
        return sorted(found)

    def _inside(self, namespace: Identifier) -> list[Identifier]:
        """The namespaces in another one, or at the top."""
        try:
            found = self._catalog.list_namespaces(namespace)
        except BadRequestError:  # there are none in others
            if not namespace:
                raise
            return []
        except NoSuchNamespaceError:  # it is missing; but for pyiceberg any 404 says so
            if not namespace or self._requests.lists_inside(namespace):
                raise
            return []
        return [each for each in found if len(each) == len(namespace) + 1]

    def _names(self, namespaces: Iterable[str], *, views: bool) -> list[TableName]:
        every = list(namespaces)
        found = at_once(lambda each: self._requests.names(each, views=views), every)
        return sorted(
            TableName(namespace, name)
            for namespace, there in zip(every, found, strict=True)
            for name in there
        )

    def _entries(self) -> dict[TableName, tuple[str, bool]]:
        """The metadata files of all tables and views, and whether each is a view, by name."""
        namespaces, found = self._namespaces(), dict[TableName, tuple[str, bool]]()
        for is_view in (False, True):
            names = self._names(namespaces, views=is_view)
            said = at_once(partial(self._readable, is_view=is_view), names)
            found |= {
                self._spelled(name): (_metadata_file(each), is_view)
                for name, each in zip(names, said, strict=True)
                if each is not None  # else it is missing by now
            }
        return dict(sorted(found.items()))

    def _readable(self, name: TableName, *, is_view: bool) -> Json | None:
        """What the server says of a table or view of anybody; None for one that is missing by now.

        Raises:
            Refused: The server does not say what it is, so its files may be in any folder.
        """
        try:
            return self._requests.view(name) if is_view else self._requests.table(name)
        except RESTError as error:
            what = f"the {'view' if is_view else 'table'} {self._spelled(name)}"
            raise Refused(
                f"{what} cannot be read, so it is not certain which files it needs ({error})",
                advice="Make sure that the credentials of the catalog may read it. If it is "
                "broken, fix it or drop it from the catalog. Then retry.",
            ) from error

    def _spelled(self, name: TableName) -> TableName:
        """A name as people write it, if its namespace is in another one."""
        return replace(name, namespace=self._requests.spelled(name.namespace))

    def _found(self, name: TableName) -> StoredTable | None:
        try:
            return self._described(name, is_view=False) or self._described(name, is_view=True)
        except (RESTError, RequestException) as error:
            raise OutcomeUnknown(
                f"{name} could not be read from the catalog ({error}); nothing was dropped",
                advice="retrying is safe",
            ) from error

    def _described(self, name: TableName, is_view: bool) -> StoredTable | None:
        """What the metadata says; None for a table or view that is missing by now."""
        if is_view:
            found = self._requests.view(name)
            return None if found is None else stored_view(name, found["metadata"])
        try:
            return stored_table(name, load(self._catalog, name))
        except NoSuchTableError:
            return None


def _metadata_file(found: Json) -> str:
    """The metadata file of a table or view, or one in its folder, if the catalog does not say."""
    named = found.get("metadata-location")
    return str(named or f"{str(found['metadata']['location']).rstrip('/')}/metadata/unknown")
