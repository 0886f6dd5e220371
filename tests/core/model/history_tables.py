"""The worked examples of seed 001, *SCD Type 2*, as it prints them.

Its by-time example has two slips, corrected here: the third source carries 2020-01-03 for the
milkshake, as its result demands, and the first load is valid from 1970-01-01, whatever the table of
options says of new rows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

Row = tuple[object, ...]


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


CELLS: Final[dict[str, Callable[[str], object]]] = {
    "id": int,
    "name": str,
    "price": Decimal,
    "some_value": int,
    "ds": instant,
    "updated_at": instant,
    "valid_from": instant,
    "valid_to": instant,
}


def printed(table: str) -> tuple[tuple[str, ...], list[Row]]:
    """The columns and rows of a table, whose first line names them; NULL stands for itself."""
    lines = [line.strip().strip("|").split("|") for line in table.strip().splitlines()]
    names, *cells = [[cell.strip() for cell in line] for line in lines]
    columns = tuple(name.lower().replace(" ", "_") for name in names)
    rows = [
        tuple(
            None if cell == "NULL" else CELLS[column](cell)
            for column, cell in zip(columns, line, strict=True)
        )
        for line in cells
    ]
    return columns, rows


Load = tuple[str, str, str]
"""When a source was looked at, the source, and the history behind that."""


def _loads(columns: str, text: str) -> list[Load]:
    """The loads of a source: the instant of each, its rows, and behind ``gives`` the history."""
    loads = []
    for load in text.strip().split("\n\n"):
        at, _, tables = load.partition("\n")
        source, _, history = tables.partition("\ngives\n")
        validity = f"{columns} Valid From | Valid To |"
        loads.append((at, f"{columns}\n{source}", f"{validity}\n{history}"))
    return loads


BY_TIME: Final = _loads(
    "| ID | Name | Price | Updated At |",
    """
2020-01-01 11:00:00
| 1 | Chicken Sandwich | 10.99 | 2020-01-01 00:00:00 |
| 2 | Cheeseburger | 8.99 | 2020-01-01 00:00:00 |
| 3 | French Fries | 4.99 | 2020-01-01 00:00:00 |
gives
| 1 | Chicken Sandwich | 10.99 | 2020-01-01 00:00:00 | 1970-01-01 00:00:00 | NULL |
| 2 | Cheeseburger | 8.99 | 2020-01-01 00:00:00 | 1970-01-01 00:00:00 | NULL |
| 3 | French Fries | 4.99 | 2020-01-01 00:00:00 | 1970-01-01 00:00:00 | NULL |

2020-01-02 11:00:00
| 1 | Chicken Sandwich | 12.99 | 2020-01-02 00:00:00 |
| 3 | French Fries | 4.99 | 2020-01-01 00:00:00 |
| 4 | Milkshake | 3.99 | 2020-01-02 00:00:00 |
gives
| 1 | Chicken Sandwich | 10.99 | 2020-01-01 00:00:00 | 1970-01-01 00:00:00 | 2020-01-02 00:00:00 |
| 1 | Chicken Sandwich | 12.99 | 2020-01-02 00:00:00 | 2020-01-02 00:00:00 | NULL |
| 2 | Cheeseburger | 8.99 | 2020-01-01 00:00:00 | 1970-01-01 00:00:00 | 2020-01-02 11:00:00 |
| 3 | French Fries | 4.99 | 2020-01-01 00:00:00 | 1970-01-01 00:00:00 | NULL |
| 4 | Milkshake | 3.99 | 2020-01-02 00:00:00 | 2020-01-02 00:00:00 | NULL |

2020-01-03 11:00:00
| 1 | Chicken Sandwich | 14.99 | 2020-01-03 00:00:00 |
| 2 | Cheeseburger | 8.99 | 2020-01-03 00:00:00 |
| 3 | French Fries | 4.99 | 2020-01-01 00:00:00 |
| 4 | Chocolate Milkshake | 3.99 | 2020-01-03 00:00:00 |
gives
| 1 | Chicken Sandwich | 10.99 | 2020-01-01 00:00:00 | 1970-01-01 00:00:00 | 2020-01-02 00:00:00 |
| 1 | Chicken Sandwich | 12.99 | 2020-01-02 00:00:00 | 2020-01-02 00:00:00 | 2020-01-03 00:00:00 |
| 1 | Chicken Sandwich | 14.99 | 2020-01-03 00:00:00 | 2020-01-03 00:00:00 | NULL |
| 2 | Cheeseburger | 8.99 | 2020-01-01 00:00:00 | 1970-01-01 00:00:00 | 2020-01-02 11:00:00 |
| 2 | Cheeseburger | 8.99 | 2020-01-03 00:00:00 | 2020-01-03 00:00:00 | NULL |
| 3 | French Fries | 4.99 | 2020-01-01 00:00:00 | 1970-01-01 00:00:00 | NULL |
| 4 | Milkshake | 3.99 | 2020-01-02 00:00:00 | 2020-01-02 00:00:00 | 2020-01-03 00:00:00 |
| 4 | Chocolate Milkshake | 3.99 | 2020-01-03 00:00:00 | 2020-01-03 00:00:00 | NULL |
""",
)
BY_COLUMN: Final = _loads(
    "| ID | Name | Price |",
    """
2020-01-01 11:00:00
| 1 | Chicken Sandwich | 10.99 |
| 2 | Cheeseburger | 8.99 |
| 3 | French Fries | 4.99 |
gives
| 1 | Chicken Sandwich | 10.99 | 1970-01-01 00:00:00 | NULL |
| 2 | Cheeseburger | 8.99 | 1970-01-01 00:00:00 | NULL |
| 3 | French Fries | 4.99 | 1970-01-01 00:00:00 | NULL |

2020-01-02 11:00:00
| 1 | Chicken Sandwich | 12.99 |
| 3 | French Fries | 4.99 |
| 4 | Milkshake | 3.99 |
gives
| 1 | Chicken Sandwich | 10.99 | 1970-01-01 00:00:00 | 2020-01-02 11:00:00 |
| 1 | Chicken Sandwich | 12.99 | 2020-01-02 11:00:00 | NULL |
| 2 | Cheeseburger | 8.99 | 1970-01-01 00:00:00 | 2020-01-02 11:00:00 |
| 3 | French Fries | 4.99 | 1970-01-01 00:00:00 | NULL |
| 4 | Milkshake | 3.99 | 2020-01-02 11:00:00 | NULL |

2020-01-03 11:00:00
| 1 | Chicken Sandwich | 14.99 |
| 2 | Cheeseburger | 8.99 |
| 3 | French Fries | 4.99 |
| 4 | Chocolate Milkshake | 3.99 |
gives
| 1 | Chicken Sandwich | 10.99 | 1970-01-01 00:00:00 | 2020-01-02 11:00:00 |
| 1 | Chicken Sandwich | 12.99 | 2020-01-02 11:00:00 | 2020-01-03 11:00:00 |
| 1 | Chicken Sandwich | 14.99 | 2020-01-03 11:00:00 | NULL |
| 2 | Cheeseburger | 8.99 | 1970-01-01 00:00:00 | 2020-01-02 11:00:00 |
| 2 | Cheeseburger | 8.99 | 2020-01-03 11:00:00 | NULL |
| 3 | French Fries | 4.99 | 1970-01-01 00:00:00 | NULL |
| 4 | Milkshake | 3.99 | 2020-01-02 11:00:00 | 2020-01-03 11:00:00 |
| 4 | Chocolate Milkshake | 3.99 | 2020-01-03 11:00:00 | NULL |
""",
)
SNAPSHOTS: Final = """
| id | some_value | ds |
| 1 | 1 | 2025-01-01 |
| 1 | 2 | 2025-01-02 |
| 1 | 3 | 2025-01-03 |
| 1 | 3 | 2025-01-04 |
"""
"""A source with a snapshot of each day; the model reads one of them at a time."""
OF_SNAPSHOTS: Final = """
| id | some_value | ds | valid_from | valid_to |
| 1 | 1 | 2025-01-01 | 1970-01-01 00:00:00 | 2025-01-02 00:00:00 |
| 1 | 2 | 2025-01-02 | 2025-01-02 00:00:00 | 2025-01-03 00:00:00 |
| 1 | 3 | 2025-01-03 | 2025-01-03 00:00:00 | NULL |
"""
