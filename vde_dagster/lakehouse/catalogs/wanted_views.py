"""What a swap makes of each view, before anything is written, in every sort of catalog."""

from __future__ import annotations

from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.stored_types import holds
from vde_dagster.core.names import TableName, is_another_models
from vde_dagster.lakehouse.iceberg.view_metadata import (
    Json,
    Selected,
    columns_of_fields,
    new_metadata,
    shown_field,
    table_fields,
    view_fields,
)
from vde_dagster.ports.catalog import ViewDefinition


def refused_place(name: TableName, *, is_view: bool) -> Refused:
    """A view is wanted where another program has something."""
    kind = "view of another program" if is_view else "table"
    return Refused(
        f"{name} is a {kind}, so no view can be created there; nothing was changed",
        advice="Drop it, move it away, or rename the model.",
    )


def wanted_metadata(
    view: ViewDefinition,
    target: tuple[bool, Json] | None,
    before: Json | None,
    shown: TableName | None,
    *,
    catalog: str,
    location: str,
    state: str,
) -> Json:
    """The metadata of a view that a swap makes.

    Args:
        view: The view.
        target: Whether its target is a view, and the target's metadata; None if there is none.
        before: Its own metadata; None if it is new.
        shown: What it shows now.
        catalog: The catalog's name in queries.
        location: Where it is, if it is new.
        state: The id of the state that makes it.

    Raises:
        Refused: The target is missing or lacks a column, or is another model's.
    """
    if target is None:
        raise Refused(
            f"the view {view.name} selects from {view.target}, which does not exist; "
            "nothing was changed"
        )
    is_view, metadata = target
    chosen = selected(view, metadata, is_view=is_view)
    if shown is not None and is_another_models(shown, view.target):
        raise Refused(
            f"{view.name} shows {shown}, which belongs to another model; nothing was changed"
        )
    return new_metadata(view, chosen, before, catalog=catalog, location=location, state=state)


def selected(view: ViewDefinition, target: Json, *, is_view: bool) -> Selected:
    """What a view selects of its target.

    Args:
        view: The view.
        target: The metadata of its target.
        is_view: Whether the target is a view.

    Raises:
        Refused: The target lacks a column.
    """
    whole = view_fields(target) if is_view else table_fields(target)
    by_name = {field["name"].lower(): field for field in whole}
    missing = [each.name for each in view.columns if each.name.lower() not in by_name]
    if missing or not view.columns:
        raise Refused(
            f"the view {view.name} needs {', '.join(missing) or 'at least one column'}; "
            f"{view.target} has {', '.join(each['name'] for each in whole)}; nothing was changed"
        )
    stored = [by_name[each.name.lower()] for each in view.columns]
    fields = [shown_field(field, each) for field, each in zip(stored, view.columns, strict=True)]
    types = zip(columns_of_fields(fields), columns_of_fields(stored), strict=True)
    comment = target.get("properties", {}).get("comment", "")
    return Selected(
        fields=fields,
        comment=str(comment if view.comment is None else view.comment),
        by_field=view.by_field or not all(holds(own.type, all_.type) for own, all_ in types),
    )
