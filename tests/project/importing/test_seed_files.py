"""Seeds are plain CSV afterwards, with the rows that pandas reads."""

from __future__ import annotations

import pytest

from vde_dagster.project.importing.seed_files import plain_csv


def test_a_plain_file_stays_to_the_letter() -> None:
    text = 'id,name\r\n1,"a, b"\r\n2,\r\n'
    assert plain_csv(text, {}, {"id": "bigint", "name": "string"}) == text


def test_other_delimiters_become_commas() -> None:
    text = "id;name\n1;'a;b'\n2;c,d\n"
    found = plain_csv(text, {"delimiter": ";", "quotechar": "'"}, {})
    assert found == 'id,name\n1,a;b\n2,"c,d"\n'


@pytest.mark.parametrize(
    "settings, cells",
    [
        ({}, ["", "", "-"]),
        ({"na_values": ["-"]}, ["", "", ""]),
        ({"na_values": {"a": ["-"]}}, ["", "", ""]),
        ({"na_values": {"b": ["-"]}}, ["", "", "-"]),
        ({"keep_default_na": False}, ["NA", "null", "-"]),
        ({"keep_default_na": False, "na_values": ["-"]}, ["NA", "null", ""]),
    ],
)
def test_what_pandas_reads_as_missing_is_empty(
    settings: dict[str, object], cells: list[str]
) -> None:
    found = plain_csv("a,b\nNA,1\nnull,2\n-,3\n", settings, {"a": "string", "b": "bigint"})
    assert [line.partition(",")[0] for line in found.splitlines()[1:]] == cells


@pytest.mark.parametrize(
    "kind, cell, written",
    [
        ("timestamp_ntz", "2023-10-10T04:17:47Z", "2023-10-10 04:17:47"),
        ("timestamp_ntz", "2023-10-10 04:17:47+02:00", "2023-10-10 02:17:47"),
        ("timestamp_ntz", "2023-10-10 04:17:47", "2023-10-10 04:17:47"),
        ("timestamp", "2023-10-10T04:17:47Z", "2023-10-10T04:17:47Z"),
        ("date", "2023-10-10T04:17:47Z", "2023-10-10"),
        ("date", "2023-10-10", "2023-10-10"),
        ("int", "2.0", "2"),
        ("double", "2.0", "2.0"),
        ("string", "2.0", "2.0"),
        ("date", "soon", "soon"),
    ],
)
def test_cells_are_as_their_types_are_written_here(kind: str, cell: str, written: str) -> None:
    assert plain_csv(f"a,b\n{cell},x\n", {}, {"a": kind}) == f"a,b\n{written},x\n"
