"""The requests that create and replace a view over REST, as Iceberg's REST specification says.

The specification lets a replacement require that the view still is the one of a uuid, and nothing
of its version. So the version is numbered by us: a replacement adds the version ``number``, and
makes exactly that one current. Servers give a new version the number that it asks for, or one above
the highest that they have (`ViewMetadata` of Iceberg's own library, which others follow). Where a
later number was written meanwhile, there is no version ``number``, the request is refused as a
whole, and what was written later stays: the number is a fencing token that the server compares.
Before that, the version that the request added is made current as such. So a request that arrives
twice is refused the second time, which adds none.

Servers that count versions themselves, whatever number is asked for (those on Iceberg's library in
Rust, as Lakekeeper), refuse such a request always. They are asked to make the version current that
follows the highest one then, and a property and the version's summary have the number of the swap.
If another request came first, its version stays the current one. Servers that go by numbers have no
version of that number, since swaps have numbers further apart, and refuse the request: so it is
safe to try it.

A server that creates a view may drop the number and the summary of its version, so what a view
shows, and the number of the swap that created it, are among its properties. What it shows only
counts together with the query that we wrote for it: who replaces our view by another one leaves its
properties there.

At the end is how a swap ends that does not change all of its views.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from vde_dagster.core.errors import OutcomeUnknown, Refused, VdeError
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.catalogs.rest_requests import Answer
from vde_dagster.lakehouse.iceberg.view_metadata import (
    TARGET,
    Fields,
    Json,
    columns_of_fields,
    current_version,
    queries_of,
    shown_rows,
    view_fields,
)
from vde_dagster.ports.catalog import SwapOvertaken

_REQUEST: Final = "vde.request"
_NUMBER: Final = "vde.number"
_LAST_ADDED: Final = -1


def shown_by(metadata: Json, catalog: str) -> TableName | None:
    """What a view of ours shows; None for a view of another program.

    Args:
        metadata: The view's.
        catalog: The catalog's name in queries.
    """
    summary = current_version(metadata).get("summary") or {}
    written = summary.get(TARGET) or metadata.get("properties", {}).get(TARGET)
    if not written or written.count(".") != 1:
        return None
    target = TableName(*written.split("."))
    return None if shown_rows(metadata, target, catalog) is None else target


def highest_number(metadata: Json) -> int:
    """The highest number of a swap or version that made a view what it is.

    On a server that counts, a request that arrives late writes its number over the property, so the
    numbers in versions' summaries, which stay, count as well.
    """
    written = [metadata.get("properties", {}).get(_NUMBER)]
    written += [(each.get("summary") or {}).get(_NUMBER) for each in metadata["versions"]]
    numbers = [int(each["version-id"]) for each in metadata["versions"]]
    return max([*numbers, *(int(each) for each in map(str, written) if each.isdecimal())])


def is_made_by(metadata: Json, number: int, request: str) -> bool:
    """Whether the current version is the one that a request added.

    No other request has its number. A server may give another one, and keep the summary.
    """
    current = current_version(metadata)
    summary = current.get("summary") or {}
    return bool(current["version-id"] == number or summary.get(_REQUEST) == request)


def shows_the_same(found: Json, wanted: Json, catalog: str) -> bool:
    """Whether a view is as it is wanted, whatever its number is."""
    return (
        shown_by(found, catalog) == shown_by(wanted, catalog) is not None
        and queries_of(found) == queries_of(wanted)
        and columns_of_fields(view_fields(found)) == columns_of_fields(view_fields(wanted))
        and found["properties"].get("comment") == wanted["properties"].get("comment")
    )


def creation(name: str, wanted: Json, *, number: int) -> Json:
    """The body of a request that creates a view.

    Args:
        name: The view's, in its namespace.
        wanted: Its metadata.
        number: That of the swap.
    """
    version = current_version(wanted)
    return {
        "name": name,
        "schema": _schema(view_fields(wanted)),
        "view-version": {**version, "schema-id": 0, "version-id": 1},
        "properties": {**wanted["properties"], _NUMBER: str(number)},
    }


def counted_replacement(
    identifier: Mapping[str, Any], before: Json, wanted: Json, *, number: int, request: str
) -> Json:
    """The body of a `replacement` for a server that counts versions itself."""
    body = replacement(identifier, before, wanted, number=number, request=request)
    following = max(int(each["version-id"]) for each in before["versions"]) + 1
    for update in body["updates"]:
        if update.get("view-version-id") == number:
            update["view-version-id"] = following
        elif update["action"] == "set-properties":
            update["updates"] = {**update["updates"], _NUMBER: str(number)}
    return body


def replacement(
    identifier: Mapping[str, Any], before: Json, wanted: Json, *, number: int, request: str
) -> Json:
    """The body of a request that replaces a view, if it still is the one that was read.

    Args:
        identifier: Its namespace and name, as the specification writes them.
        before: Its metadata as they were read.
        wanted: Its metadata as they shall be.
        number: That of the new version.
        request: What no other request has. Servers take an earlier version that is equal in all but
            its number for the new one; so none is.
    """
    stays = _schema_id(before, view_fields(wanted))
    version = {
        **current_version(wanted),
        "version-id": number,
        "schema-id": _LAST_ADDED if stays is None else stays,
    }
    version["summary"] = {**version["summary"], _REQUEST: request, _NUMBER: str(number)}
    updates: list[Json] = []
    if stays is None:
        updates.append({"action": "add-schema", "schema": _schema(view_fields(wanted))})
    updates += [
        {"action": "add-view-version", "view-version": version},
        {"action": "set-current-view-version", "view-version-id": _LAST_ADDED},
        {"action": "set-current-view-version", "view-version-id": number},
        {"action": "set-properties", "updates": wanted["properties"]},
    ]
    if "comment" in before["properties"] and "comment" not in wanted["properties"]:
        updates.append({"action": "remove-properties", "removals": ["comment"]})
    return {
        "identifier": dict(identifier),
        "requirements": [{"type": "assert-view-uuid", "uuid": before["view-uuid"]}],
        "updates": updates,
    }


def _schema(fields: Fields) -> Json:
    return {"type": "struct", "schema-id": 0, "identifier-field-ids": [], "fields": list(fields)}


def _schema_id(before: Json, fields: Fields) -> int | None:
    """The schema of a view that has exactly these columns; None if it has to be added."""
    wanted = [_plain(each) for each in fields]
    for schema in before["schemas"]:
        same = [_plain(each) for each in schema["fields"]] == wanted
        if same and not schema.get("identifier-field-ids"):
            return int(schema.get("schema-id", 0))
    return None


def _plain(field: Json) -> Json:
    """A column without what says nothing, which servers write or leave out."""
    return {key: each for key, each in field.items() if each not in (None, "")}


@dataclass(slots=True)
class Outcomes:
    """What became of the views of a swap so far.

    ``unknown`` has those that were asked to be changed by a request that may still be carried out.
    """

    every: int = 0
    done: list[TableName] = field(default_factory=list)
    unknown: list[TableName] = field(default_factory=list)


def overtaken(name: TableName, found: Json) -> SwapOvertaken:
    """A view has a higher number than a swap that would change it.

    Args:
        name: The view's.
        found: Its metadata.
    """
    what = f"another process changed the view {name} in the meantime"
    return SwapOvertaken(what, highest=highest_number(found))


def given_up(name: TableName, answer: Answer | VdeError | None) -> VdeError:
    """A view is not changed although that was asked for several times; the last answer says why."""
    if isinstance(answer, VdeError):
        return answer
    said = f" ({answer.status}: {answer.said})" if answer is not None else ""
    return Refused(
        f"the catalog refuses to change the view {name}{said}",
        advice="Look for the reason in the catalog's log.",
    )


def cut(error: VdeError, outcomes: Outcomes) -> VdeError:
    """An error of a swap, with how much of it was done, and of what that is not known.

    If it is not known of a view, it is an `OutcomeUnknown`, whatever became of another one; but who
    was overtaken is noticed, since going above the higher number settles both.
    """
    advice = error.advice
    if not (isinstance(error, Refused) and advice):  # then that has to be done first
        if outcomes.done:
            advice = "retrying changes the others."
        elif outcomes.unknown:
            advice = "retrying is safe"
    message = f"{error.message}; {_so_far(outcomes, isinstance(error, OutcomeUnknown))}"
    if isinstance(error, SwapOvertaken):
        return SwapOvertaken(message, advice=advice, highest=error.highest)
    kind = OutcomeUnknown if outcomes.unknown else type(error)
    return kind(message, advice=advice)


def _so_far(outcomes: Outcomes, is_unknown: bool) -> str:
    if outcomes.done:
        known = f"{len(outcomes.done)} of {outcomes.every} views were already changed"
    elif outcomes.unknown or is_unknown:
        known = "no other view was changed"
    else:
        known = "nothing was changed"
    return "; ".join([*_not_known(outcomes.unknown), known])


def _not_known(names: Collection[TableName]) -> list[str]:
    if not names:
        return []
    were = "was" if len(names) == 1 else "were"
    return [f"it is not known whether {', '.join(map(str, sorted(names)))} {were} changed"]
