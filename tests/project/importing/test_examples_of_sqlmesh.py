"""SQLMesh's own examples, imported: they plan, their tests pass, and the rows are SQLMesh's."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, StringType

from tests.cli.calling import call, run_vde
from tests.project.importing.peers import Peer, sqlmesh
from tests.project.importing.rows_of_both import (
    Rows,
    assert_same_rows,
    built,
    edited,
    rows_of_ours,
)
from vde_dagster.composition import VdeProject

pytestmark = [pytest.mark.full, pytest.mark.spark]


@pytest.fixture(scope="module")
def peer() -> Peer:
    return sqlmesh()


def example(peer: Peer, name: str, folder: Path) -> Path:
    """A copy of an example: SQLMesh writes caches into a project."""
    return shutil.copytree(peer.folder / "examples" / name, folder / "theirs")


def imported(peer: Peer, folder: Path, *theirs: Path) -> Path:
    """The import of a project; returns its folder."""
    target = folder / "ours"
    done = call("import", "sqlmesh", *theirs, "--to", target, "--python", peer.python)
    assert done.exit_code == 0, done.stderr
    return target


def rows_of_sqlmesh(peer: Peer, *folders: Path) -> Rows:
    """The rows of each model, built by SQLMesh on DuckDB."""
    script = Path(__file__).with_name("sqlmesh_build.py")
    found = json.loads(peer.run(script, *folders, cwd=folders[0]))
    assert isinstance(found, dict)
    return found


def test_sushi_needs_two_edits_and_has_the_rows_of_sqlmesh(peer: Peer, tmp_path: Path) -> None:
    theirs = example(peer, "sushi", tmp_path)
    ours = imported(peer, tmp_path, theirs)
    report = (ours / "IMPORT.md").read_text()
    assert "The project loads" in report
    assert "models/order_items.py:19" in report
    assert "models/raw_marketing.py:38" in report

    (theirs / "models" / "latest_order.sql").unlink()  # SQLMesh itself fails to load it
    expected = rows_of_sqlmesh(peer, theirs)
    order_items = ours / "models" / "order_items.py"
    edited(order_items, "def get_items_table", "def execute(", "")
    edited(order_items, "    orders_table = context", "    rng = random", "")
    edited(order_items, "        # Generate query", "        dfs = []\n", _READ_BY_DAY)
    # What SQLMesh made of it is drawn by chance, so that no function could make the same.
    drawn = json.dumps(expected["sushi.raw_marketing"])
    marketing = ours / "models" / "raw_marketing.py"
    edited(marketing, "    # Generate query", "@model(", _WRITTEN_ROWS.format(drawn=repr(drawn)))
    _make_demographics(ours)
    tested = run_vde("test", "--project", ours)
    assert "3 unit tests: 3 passed" in tested.stdout
    built(ours)
    assert_same_rows(ours, expected)
    assert len(rows_of_ours(ours, "sushi.latest_order")) == 1


_READ_BY_DAY = """\
        day = f"event_date = DATE '{to_ds(dt)}'"
        orders = context.table("sushi.orders").where(day).orderBy("id").toPandas()
        items = context.table("sushi.items").where(day).orderBy("id").toPandas()

"""
_WRITTEN_ROWS = """\
    df = pd.read_json(StringIO({drawn}))
    df["updated_at"] = pd.to_datetime(df["updated_at"]).dt.tz_localize(None)
    return df


from io import StringIO  # noqa: E402


"""


def _make_demographics(folder: Path) -> None:
    """The source that the example makes with `before_all`."""
    catalog = VdeProject.load(folder).iceberg_catalog()
    catalog.create_namespace_if_not_exists("raw")
    schema = Schema(
        NestedField(1, "customer_id", IntegerType()), NestedField(2, "zip", StringType())
    )
    table = catalog.create_table("raw.demographics", schema)
    columns = {"customer_id": pa.array([1], pa.int32()), "zip": ["00000"]}
    table.append(pa.table(columns))


def test_multi_loads_plans_and_has_the_rows_of_sqlmesh(peer: Peer, tmp_path: Path) -> None:
    theirs = example(peer, "multi", tmp_path)
    ours = imported(peer, tmp_path, theirs / "repo_1", theirs / "repo_2")
    assert "## Errors" not in (ours / "IMPORT.md").read_text()
    assert "## Edit" not in (ours / "IMPORT.md").read_text()
    expected = rows_of_sqlmesh(peer, theirs / "repo_1", theirs / "repo_2")
    built(ours)
    assert_same_rows(ours, expected)


def test_wursthall_has_the_rows_of_sqlmesh(peer: Peer, tmp_path: Path) -> None:
    theirs = example(peer, "wursthall", tmp_path)
    _begin_lately(theirs)
    _decide_orders(theirs / "models")
    packages = _with_faker(peer, tmp_path)
    target = tmp_path / "ours"
    arguments = ("import", "sqlmesh", theirs, "--to", target, "--python", peer.python)
    done = run_vde(*arguments, PYTHONPATH=str(packages))
    assert done.returncode == 0, done.stderr
    assert "2 files to edit" in done.stdout

    expected = rows_of_sqlmesh(peer, theirs)
    _edit_wursthall(target / "models")
    built(target, PYTHONPATH=str(packages))
    assert_same_rows(target, expected)


def _begin_lately(folder: Path) -> None:
    """Let a project begin ten days ago: it has rows of each day since 2022."""
    start = datetime.now(UTC).date() - timedelta(days=10)
    for path in [*folder.rglob("*.py"), *folder.rglob("*.sql")]:
        text = path.read_text().replace("2022-06-01", start.isoformat())
        path.write_text(text.replace("date(2022, 6, 1)", f"date{start.timetuple()[:3]}"))


def _decide_orders(models: Path) -> None:
    """Order what rows are drawn from, and for: the example leaves it to the engine."""
    details, orders = models / "src" / "order_item_details.py", models / "db" / "order_f.py"
    ordered = "'{to_ds(end)}'\n            ORDER BY register_ds, id\n"
    edited(details, "'{to_ds(end)}'", '            """', ordered)
    menu = "{menu_item_details_table_name}"
    edited(details, menu, '"),', f"{menu} ORDER BY id")
    edited(orders, 'sort_values(["order_ds"', "])", 'sort_values(["order_ds", "order_id"')


def _with_faker(peer: Peer, folder: Path) -> Path:
    """A folder of Python's path with the package that the models import."""
    (package,) = peer.folder.glob("lib/python*/site-packages/faker")
    shutil.copytree(package, folder / "packages" / "faker")
    return folder / "packages"


def _edit_wursthall(models: Path) -> None:
    details = models / "src" / "order_item_details.py"
    edited(details, "    customer_details_table_name", "    num_menu_items", _DETAILS)
    orders = models / "db" / "order_f.py"
    edited(orders, "    item_d_table_name", "    df_order_item_f = df_order_item_f.merge", _ORDERS)
    edited(orders, "    return df_order_item_f[list", "\n\n\n", _ROUNDED)


_DETAILS = """\
    customers = context.table("src.customer_details").where(f"register_ds <= '{to_ds(end)}'")
    df_customers = (
        customers.selectExpr("id AS customer_id", "register_ds", "id")
        .orderBy("register_ds", "id")
        .drop("id")
        .toPandas()
    )
    items = context.table("src.menu_item_details")
    df_menu_items = items.selectExpr("id AS item_id").orderBy("item_id").toPandas()

"""
_ORDERS = """\
    df_item_d = context.table("db.item_d").select("item_id", "item_price").toPandas()
    by_day = f"order_ds BETWEEN '{to_ds(start)}' AND '{to_ds(end)}'"
    df_order_item_f = context.table("db.order_item_f").where(by_day).toPandas()
    df_order_item_f = df_order_item_f.drop(columns="order_amount")

"""
_ROUNDED = """\
    for name in ("order_total", "order_tax", "order_tip", "charge_total"):
        df_order_item_f[name] = df_order_item_f[name].astype(float).round(2)
    return df_order_item_f[list(COLUMN_TO_TYPE)]"""
