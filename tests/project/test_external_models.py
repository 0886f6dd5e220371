"""Refreshing `external_models.yaml`: what people wrote stays, what the catalog says is added."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.core.written_project import problems_of
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict, ProjectInvalid, Refused
from vde_dagster.core.names import ModelName
from vde_dagster.project.file_writing import read_as_written, replace_text
from vde_dagster.project.loading import load_project
from vde_dagster.project.sources.external_entries import ColumnChange, SourceTable
from vde_dagster.project.sources.external_models import HEADER, Refreshed, refresh

PATH = Path("external_models.yaml")


def table(*columns: str, description: str = "") -> SourceTable:
    """Columns as `name type` or `name type # comment`."""
    return SourceTable(columns=tuple(map(column, columns)), description=description)


def column(written: str) -> Column:
    typed, _, comment = written.partition(" # ")
    name, _, kind = typed.partition(" ")
    return Column(name=name, type=kind, description=comment)


def refreshed(text: str, **tables: SourceTable) -> Refreshed:
    named = {ModelName("raw", name): each for name, each in tables.items()}
    return refresh(text, named, catalog="lake", path=PATH)


def test_a_new_file_has_every_source_with_types_and_comments() -> None:
    found = refreshed(
        "",
        orders=table("id bigint # Number of the order", "at timestamp", description="All orders"),
        codes=table("code string"),
    )
    assert found.text == (
        f"{HEADER}"
        "- name: raw.codes\n"
        "  columns:\n"
        "    code: string\n"
        "- name: raw.orders\n"
        "  description: All orders\n"
        "  columns:\n"
        "    id: bigint  # Number of the order\n"
        "    at: timestamp\n"
    )
    assert found.added == (ModelName("raw", "codes"), ModelName("raw", "orders"))


WRITTEN = """# Ours, by hand.
- description: "Orders, as the shop has them"  # see the wiki
  name: raw.orders
  columns:
    # the key
    id: BIGINT   # unique
    amount: decimal(10, 2) # in euros

    # when
    at: timestamp
  # end of orders

- name: other.unread
  columns: {x: int}
"""


def test_a_file_that_says_what_the_catalog_does_stays_as_it_is() -> None:
    same = refreshed(WRITTEN, orders=table("id bigint", "amount decimal(10,2)", "at timestamp"))
    assert same.text == WRITTEN
    assert (same.added, same.updated) == ((), {})
    assert same.declared == (ModelName("other", "unread"), ModelName("raw", "orders"))


ID, AMOUNT, AT = "id bigint", "amount decimal(10,2)", "at timestamp"
ID_LINES = "    # the key\n    id: BIGINT   # unique\n"
AMOUNT_LINE = "    amount: decimal(10, 2) # in euros\n"
AT_LINE = "    at: timestamp\n"


@pytest.mark.parametrize(
    "columns, old, new",
    [
        ([ID, "amount double", AT], "decimal(10, 2) #", "double #"),
        ([ID, AMOUNT, AT, "note string # Free"], AT_LINE, f"{AT_LINE}    note: string  # Free\n"),
        (["first int", ID, AMOUNT, AT], ID_LINES, f"    first: int\n{ID_LINES}"),
        ([ID, AT], AMOUNT_LINE, ""),
        (["Id bigint", AMOUNT, AT], "    id: BIGINT ", "    Id: BIGINT "),
        ([ID, "AMOUNT double", AT], "amount: decimal(10, 2) #", "AMOUNT: double #"),
        ([AMOUNT, ID, AT], ID_LINES + AMOUNT_LINE, AMOUNT_LINE + ID_LINES),
    ],
)
def test_only_the_lines_of_columns_that_differ_change(
    columns: list[str], old: str, new: str
) -> None:
    assert WRITTEN.count(old) == 1
    found = refreshed(WRITTEN, orders=table(*columns))
    assert found.text == WRITTEN.replace(old, new)
    assert list(found.updated) == [ModelName("raw", "orders")]


def test_what_differs_is_named_column_by_column() -> None:
    found = refreshed(WRITTEN, orders=table("id int", "at timestamp", "note string"))
    assert found.updated[ModelName("raw", "orders")] == (
        ColumnChange(column="id", old="BIGINT", new="int"),
        ColumnChange(column="note", old=None, new="string"),
        ColumnChange(column="amount", old="decimal(10, 2)", new=None),
    )


FLOW = "{a: bigint, b: string}"
BLOCK = "  columns:\n    a: bigint\n    b: string\n"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("- name: raw.t\n  columns: {a: int}  # x\n", f"- name: raw.t\n  columns: {FLOW}  # x\n"),
        ("- {name: raw.t, columns: {a: int}}\n", f"- {{name: raw.t, columns: {FLOW}}}\n"),
        ("- name: raw.t # x\n  description: y\n", f"- name: raw.t # x\n{BLOCK}  description: y\n"),
        ("- name: raw.t\n  columns:\n", f"- name: raw.t\n{BLOCK}"),
        ("- name: raw.t\n  columns:\n    a:\n", f"- name: raw.t\n{BLOCK}"),
        (
            "- name: raw.t\r\n  columns:\r\n    a: int\r\n",
            "- name: raw.t\r\n  columns:\r\n    a: bigint\r\n    b: string\r\n",
        ),
        (
            "- name: raw.t\n  columns:\n    a: int\n  description: |\n    some\n    text\n",
            f"- name: raw.t\n{BLOCK}  description: |\n    some\n    text\n",
        ),
    ],
)
def test_every_way_to_write_an_entry_is_kept(text: str, expected: str) -> None:
    assert refreshed(text, t=table("a bigint", "b string")).text == expected


T = "- name: raw.t\n  columns:\n    a: bigint\n"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("# later\n", f"# later\n{T}"),
        ("---\n", f"---\n{T}"),
        ("- name: raw.s", f"- name: raw.s\n{T}"),
        ("  - name: raw.s\n", "  - name: raw.s\n  - name: raw.t\n    columns:\n      a: bigint\n"),
        ("- name: raw.s\r\n", f"- name: raw.s\n{T}".replace("\n", "\r\n")),
    ],
)
def test_a_new_source_comes_last(text: str, expected: str) -> None:
    found = refreshed(text, t=table("a bigint"))
    assert yaml.safe_load(found.text) == yaml.safe_load(expected)
    assert found.text == expected


@pytest.mark.parametrize(
    "text",
    [
        "- name: raw.t\n  columns: &c\n    a: int\n- name: raw.u\n  columns: *c\n",
        "- name: raw.u\n  columns: &c\n    a: int\n- name: raw.t\n  columns: *c\n",
        "- name: raw.u\n  columns:\n    x: &i int\n- name: raw.t\n  columns:\n    a: *i\n",
        "- name: raw.u\n  columns: {x: int}\n...\n",
        "- {name: raw.t}\n",
        "[]\n",
        "[{name: raw.s}]",
    ],
)
def test_what_cannot_be_edited_line_by_line_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="nothing was written"):
        refreshed(text, t=table("a bigint"))


@pytest.mark.parametrize("text", ["a: b\n", "- [\n", "text", "- a: 1\n b: 2"])
def test_what_is_no_list_of_sources_is_a_problem_of_the_project(text: str) -> None:
    with pytest.raises(ProjectInvalid):
        refreshed(text, t=table("a bigint"))


def test_an_unknown_key_is_told_with_its_line(tmp_path: Path) -> None:
    text = "- name: raw.t\n  columns: {a: bigint}\n- name: raw.u\n  colums: {a: bigint}\n"
    (told,) = problems_of(lambda: refreshed(text, t=table("a bigint")))
    assert str(told.place).endswith(":4")
    assert told.message == "a source has the unknown key 'colums'"
    assert told.advice.startswith("Did you mean 'columns'? ")
    (tmp_path / "vde.yaml").write_text("name: p\n", encoding="utf-8")
    (tmp_path / "external_models.yaml").write_text(text, encoding="utf-8")
    assert (4, told.message, told.advice) in [
        (each.place.line, each.message, each.advice)
        for each in problems_of(lambda: load_project(tmp_path))
    ]


def test_a_description_that_looks_like_a_variable_is_a_comment() -> None:
    text = refreshed("", t=table("a int", description="costs ${TOTAL}\nin \x07all")).text
    assert "- name: raw.t  # costs ${TOTAL} in all\n" in text


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda name: name.strip() == name
)
TYPES = st.sampled_from(
    [
        "int",
        "bigint",
        "decimal(10,2)",
        "struct<a:int,B:array<string>>",
        "struct<b:int,`User-Agent`:string>",
    ]
)
TABLES = st.dictionaries(NAMES, st.tuples(TYPES, st.text(max_size=20)), min_size=1, max_size=5)


@pytest.mark.full
@given(before=TABLES, after=TABLES, description=st.text(max_size=30))
def test_any_names_and_comments_are_written_so_that_they_are_read_again(
    before: dict[str, tuple[str, str]], after: dict[str, tuple[str, str]], description: str
) -> None:
    def source(columns: dict[str, tuple[str, str]]) -> SourceTable:
        folded = {name.lower(): (name, *each) for name, each in columns.items()}
        return SourceTable(
            columns=tuple(
                Column(name=name, type=kind, description=said)
                for name, kind, said in folded.values()
            ),
            description=description,
        )

    first = refreshed("", t=source(before)).text
    second = refreshed(first, t=source(after))
    (entry,) = yaml.safe_load(second.text)
    assert list(entry["columns"].items()) == [
        (each.name, each.type) for each in source(after).columns
    ]
    assert refreshed(second.text, t=source(after)).text == second.text


def test_a_file_is_replaced_whole_with_its_permissions_through_links(tmp_path: Path) -> None:
    file, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    file.write_bytes(b"a\r\n")
    file.chmod(0o640)
    link.symlink_to(file)
    assert read_as_written(link) == "a\r\n"
    replace_text(link, "a\r\n", "ä\r\n")
    assert link.is_symlink()
    assert file.read_bytes() == "ä\r\n".encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert {each.name for each in tmp_path.iterdir()} == {"real.yaml", "link.yaml"}


def test_what_was_written_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("theirs")
    for before in ("ours", None):
        with pytest.raises(Conflict, match=r"changed by another program meanwhile"):
            replace_text(file, before, "new")
    assert file.read_text() == "theirs"
    replace_text(tmp_path / "b.yaml", None, "new")
    assert (tmp_path / "b.yaml").read_text() == "new"


def test_no_text_and_no_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\xfe")
    with pytest.raises(Refused, match="UTF-8"):
        read_as_written(tmp_path / "a")
    with pytest.raises(Refused, match="cannot be written"):
        replace_text(tmp_path / "none" / "a", None, "x")
