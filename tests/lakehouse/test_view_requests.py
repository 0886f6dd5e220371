"""The bodies of requests about views, by Iceberg's REST specification."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from vde_dagster.core.columns import Column
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.catalogs.view_requests import (
    highest_number,
    is_made_by,
    shown_by,
    shows_the_same,
)
from vde_dagster.lakehouse.iceberg.view_metadata import TARGET, Selected, new_metadata
from vde_dagster.ports.catalog import ViewDefinition

ID = {"id": 1, "name": "id", "required": False, "type": "long"}
AT = {"id": 2, "name": "at", "required": False, "type": "timestamptz"}
OLD, NEW = TableName("vde__s", "m__1"), TableName("vde__s", "m__2")
NAME = TableName("dev", "m")


def metadata(target: TableName, *fields: dict[str, Any], comment: str = "") -> dict[str, Any]:
    columns = tuple(Column(name=each["name"], type="bigint") for each in fields)
    view = ViewDefinition(name=NAME, target=target, columns=columns)
    made = new_metadata(
        view,
        Selected(fields=list(fields), comment=comment, by_field=False),
        None,
        catalog="lake",
        location="/x",
    )
    made["properties"][TARGET] = str(target)
    return made


def test_a_version_says_itself_what_it_shows_where_the_properties_are_anothers() -> None:
    made = metadata(OLD, ID)
    made["properties"][TARGET] = str(NEW)
    assert shown_by(made, "lake") == OLD


def test_what_a_view_of_ours_shows_is_known_although_the_summary_is_lost() -> None:
    made = metadata(OLD, ID)
    made["versions"][0]["summary"] = {}
    assert shown_by(made, "lake") == OLD
    assert not is_made_by(made, 7, "r1")
    made["current-version-id"] = made["versions"][0]["version-id"] = 7
    assert (is_made_by(made, 7, "r1"), is_made_by(made, 8, "r1")) == (True, False)


@pytest.mark.parametrize("how", ["no property", "another query", "another catalog", "a wrong name"])
def test_a_view_of_somebody_elses_shows_nothing_of_ours(how: str) -> None:
    made = copy.deepcopy(metadata(OLD, ID))
    match how:
        case "no property":
            del made["properties"][TARGET]
            made["versions"][0]["summary"] = {}
        case "another query":  # CREATE OR REPLACE VIEW keeps the properties
            made["versions"][0]["representations"][0]["sql"] = "SELECT 1 AS id"
        case "another catalog":
            assert shown_by(made, "other") is None
            return
        case _:
            made["properties"][TARGET] = made["versions"][0]["summary"][TARGET] = "m"
    assert shown_by(made, "lake") is None


def test_views_are_the_same_whatever_their_numbers_and_their_ids_of_columns() -> None:
    one, other = metadata(OLD, ID, AT), metadata(OLD, {**ID, "id": 5}, AT)
    other["current-version-id"] = other["versions"][0]["version-id"] = 12
    assert shows_the_same(one, other, "lake")
    assert (highest_number(one), highest_number(other)) == (1, 12)
    for changed in (metadata(NEW, ID, AT), metadata(OLD, AT), metadata(OLD, ID, AT, comment="c")):
        assert not shows_the_same(one, changed, "lake")
