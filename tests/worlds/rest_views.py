"""The views of a REST catalog's server, as Iceberg's specification and its own library have them.

What a replacement does is that of `ViewMetadata.Builder` in Iceberg 1.12 (what the specification
leaves open is decided there): which number a version gets, which versions are taken for equal, what
is refused. `tests/lakehouse/test_rest_views.py` asks both the same. A server that ``counts`` gives
numbers as Iceberg's library in Rust does (`reuse_or_create_new_view_version_id`).
"""

from __future__ import annotations

import copy
import json
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]
_LAST_ADDED: Final = -1
_RETAINED: Final = 10
_EQUAL_IN: Final = (
    "summary",
    "representations",
    "default-catalog",
    "default-namespace",
    "schema-id",
)


class NotDone(Exception):
    """A request that changes nothing, with the status that says so."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


@dataclass
class StoredView:
    """A view and the file with its metadata."""

    metadata: Json
    file: Path

    def document(self) -> Json:
        """What a server answers."""
        return {
            "metadata-location": self.file.as_uri(),
            "metadata": copy.deepcopy(self.metadata),
            "config": {},
        }

    def written(self) -> StoredView:
        """The same, in its file."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.metadata), encoding="utf-8")
        return self


def created(request: Json, folder: Path) -> StoredView:
    """The view that a request creates. Iceberg's library drops the summary of its version."""
    version = {**request["view-version"], "version-id": 1, "schema-id": 0, "summary": {}}
    metadata = {
        "view-uuid": str(uuid.uuid4()),
        "format-version": 1,
        "location": str(folder),
        "properties": dict(request.get("properties", {})),
        "schemas": [{**request["schema"], "schema-id": 0}],
        "current-version-id": 1,
        "versions": [version],
        "version-log": [{"version-id": 1, "timestamp-ms": version["timestamp-ms"]}],
    }
    return StoredView(metadata, _file(folder, 1)).written()


def replaced(before: StoredView, request: Json, *, counts: bool = False) -> StoredView:
    """The view after a request.

    Raises:
        NotDone: A requirement does not hold (409), or an update makes no sense (400).
    """
    for each in request["requirements"]:
        if each["type"] != "assert-view-uuid":
            raise NotDone(400, f"no requirement of a view: {each['type']}")
        if each["uuid"] != before.metadata["view-uuid"]:
            raise NotDone(409, "Requirement failed: view UUID does not match")
    building = _Building(copy.deepcopy(before.metadata), counts)
    for each in request["updates"]:
        building.update(each)
    folder = Path(building.metadata["location"])
    return StoredView(building.built(), _file(folder, building.metadata["current-version-id"]))


class _Building:
    """The metadata while the updates of one request are made."""

    def __init__(self, metadata: Json, counts: bool) -> None:
        self.metadata = metadata
        self.counts = counts
        self.schema: int | None = None
        self.version: int | None = None
        self.added: set[int] = set()

    def update(self, update: Json) -> None:
        match update["action"]:
            case "add-schema":
                self._add_schema(update["schema"])
            case "add-view-version":
                self._add_version(dict(update["view-version"]))
            case "set-current-view-version":
                self._set_current(update["view-version-id"])
            case "set-properties":
                self.metadata["properties"] |= update["updates"]
            case "remove-properties":
                for key in update["removals"]:
                    self.metadata["properties"].pop(key, None)
            case other:
                raise NotDone(400, f"no update of a view: {other}")

    def built(self) -> Json:
        """The metadata with the newest versions."""
        current, versions = self.metadata["current-version-id"], self.metadata["versions"]
        kept = max(_RETAINED, len(self.added | {current}))
        if len(versions) > kept:
            others = sorted(e["version-id"] for e in versions if e["version-id"] != current)
            retained = {current, *others[-(kept - 1) :]}
            self.metadata["versions"] = [e for e in versions if e["version-id"] in retained]
        return self.metadata

    def _add_schema(self, schema: Json) -> None:
        there = self.metadata["schemas"]
        if any(each["fields"] == schema["fields"] for each in there):
            return  # then none was added, as far as the rest of the request is concerned
        self.schema = max((each["schema-id"] for each in there), default=-1) + 1
        there.append({**schema, "schema-id": self.schema})

    def _add_version(self, version: Json) -> None:
        there = self.metadata["versions"]
        equal = [e for e in there if all(e.get(key) == version.get(key) for key in _EQUAL_IN)]
        if equal:
            number = equal[0]["version-id"]
            self.version = number if self.counts or number in self.added else None
            return
        asked = 0 if self.counts else version["version-id"]
        number = max(asked, *(each["version-id"] + 1 for each in there))
        if version["schema-id"] == _LAST_ADDED:
            if self.schema is None:
                raise NotDone(400, "Cannot set last added schema: no schema has been added")
            version["schema-id"] = self.schema
        if version["schema-id"] not in {e["schema-id"] for e in self.metadata["schemas"]}:
            raise NotDone(400, f"Cannot add version with unknown schema: {version['schema-id']}")
        there.append({**version, "version-id": number})
        self.version = number
        self.added.add(number)

    def _set_current(self, number: int) -> None:
        if number == _LAST_ADDED:
            if self.version is None:
                raise NotDone(400, "Cannot set last version id: none has been added")
            number = self.version
        if number not in {each["version-id"] for each in self.metadata["versions"]}:
            raise NotDone(400, f"Cannot set current version to unknown version: {number}")
        if number != self.metadata["current-version-id"]:
            self.metadata["current-version-id"] = number
            entry = {"version-id": number, "timestamp-ms": int(time.time() * 1000)}
            self.metadata["version-log"].append(entry)


def _file(folder: Path, number: int) -> Path:
    return folder / "metadata" / f"{number:05d}-{uuid.uuid4()}.metadata.json"
