"""The bodies of requests about views, by Iceberg's REST specification."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from vde_dagster.core.columns import Column
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.view_metadata import TARGET, Selected, new_metadata
from vde_dagster.lakehouse.view_requests import (
    creation,
    highest_number,
    is_made_by,
    replacement,
    shown_by,
    shows_the_same,
)
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


def body(before: dict[str, Any], wanted: dict[str, Any], number: int = 7) -> dict[str, Any]:
    identifier = {"namespace": ["dev"], "name": "m"}
    return replacement(identifier, before, wanted, number=number, request="r1")


def actions(request: dict[str, Any]) -> list[str]:
    return [each["action"] for each in request["updates"]]


def test_a_replacement_requires_the_views_uuid_and_makes_its_own_version_the_current_one() -> None:
    before, wanted = metadata(OLD, ID), metadata(NEW, ID, AT)
    made = body(before, wanted)
    assert made["identifier"] == {"namespace": ["dev"], "name": "m"}
    assert made["requirements"] == [{"type": "assert-view-uuid", "uuid": before["view-uuid"]}]
    assert actions(made) == [
        "add-schema",
        "add-view-version",
        "set-current-view-version",
        "set-current-view-version",
        "set-properties",
    ]
    schema, version, added, current, properties = made["updates"]
    assert added["view-version-id"] == -1, "what this request has added, or it is refused"
    assert [each["name"] for each in schema["schema"]["fields"]] == ["id", "at"]
    assert version["view-version"]["version-id"] == current["view-version-id"] == 7
    assert version["view-version"]["schema-id"] == -1, "the one that is added before it"
    assert version["view-version"]["default-namespace"] == ["dev"]
    (text,) = version["view-version"]["representations"]
    assert text["sql"] == "SELECT `id`, `at` FROM `lake`.`vde__s`.`m__2`"
    assert properties["updates"][TARGET] == "vde__s.m__2"


def test_a_version_says_itself_what_it_shows_where_the_properties_are_anothers() -> None:
    made = metadata(OLD, ID)
    made["properties"][TARGET] = str(NEW)
    assert shown_by(made, "lake") == OLD


def test_a_view_has_the_number_of_the_swap_that_created_it_until_a_higher_one_replaces_it() -> None:
    made = metadata(OLD, ID)
    made["properties"] = creation("m", made, number=7)["properties"]
    assert highest_number(made) == 7
    made["versions"].append({**made["versions"][0], "version-id": 15})
    assert highest_number(made) == 15


def test_a_version_is_a_requests_own_by_its_number_or_by_the_request_that_it_names() -> None:
    before, wanted = metadata(OLD, ID), metadata(NEW, ID)
    made = body(before, wanted, 7)
    version = next(e for e in made["updates"] if e["action"] == "add-view-version")["view-version"]
    found = {**before, "versions": [version], "current-version-id": 7}
    assert is_made_by(found, 7, "another")
    assert is_made_by(found, 8, "r1")
    assert not is_made_by(found, 8, "another")
    assert not is_made_by(before, 7, "r1")


def test_what_a_view_of_ours_shows_is_known_although_the_summary_is_lost() -> None:
    made = metadata(OLD, ID)
    made["versions"][0]["summary"] = {}
    assert shown_by(made, "lake") == OLD
    assert not is_made_by(made, 7, "r1")


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
