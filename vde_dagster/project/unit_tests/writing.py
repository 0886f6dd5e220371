"""A unit test as the text of a YAML file, from rows that were fetched before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

import yaml

from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.unit_tests.cells import NULL_TYPE
from vde_dagster.core.unit_tests.comparison import Answer
from vde_dagster.core.unit_tests.definition import GivenRows

_WIDTH: Final = 100


class _Dumper(yaml.SafeDumper):
    """Lists stand below their keys, indented; nothing is an anchor."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists below their keys, too."""
        del indentless
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:
        """Write equal values each time."""
        del data
        return True


def text_of_test(
    name: str,
    model: ModelName,
    *,
    inputs: Mapping[ModelName, GivenRows],
    answer: Answer | None,
    types: Mapping[ModelName, Mapping[str, str]] | None = None,
    interval: Interval | None = None,
    execution_time: datetime | None = None,
) -> str:
    """The text of a file with one test.

    Args:
        name: Of the test.
        model: The model that it tests.
        inputs: The rows that stand for what the model reads.
        answer: What the model returns for them; None for no rows.
        types: Those of columns of the inputs that the file has to say.
        interval: The range that is computed; None for a model that has none.
        execution_time: What is taken for now; None if the model does not ask.
    """
    rows = _rows([each.name for each in answer.columns], answer.rows) if answer is not None else []
    times: dict[str, object] = {}
    if interval is not None:
        times = {"start": _start(interval.start), "end": _end(interval.end)}
    if execution_time is not None:
        times["execution_time"] = _start(execution_time)
    test = {
        "model": str(model),
        "inputs": {
            str(each): _given(given, (types or {}).get(each, {})) for each, given in inputs.items()
        },
        "outputs": {"query": {"rows": rows}},
        **({"vars": times} if times else {}),
    }
    return yaml.dump(
        {name: test},
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=_WIDTH,
        default_flow_style=False,
    )


def _given(given: GivenRows, types: Mapping[str, str]) -> dict[str, object]:
    columns = [each for each in given.columns if each.type != NULL_TYPE]
    places = [at for at, each in enumerate(given.columns) if each.type != NULL_TYPE]
    rows = [tuple(row[at] for at in places) for row in given.rows]
    said = {"columns": dict(types)} if types else {}
    return {**said, "rows": _rows([each.name for each in columns], rows)}


def _rows(names: Sequence[str], rows: Sequence[Sequence[object]]) -> list[dict[str, object]]:
    return [{name: _plain(value) for name, value in zip(names, row, strict=True)} for row in rows]


def _plain(value: object) -> object:
    """A value as YAML has it; what it lacks as a text, which is read in the column's type."""
    plain = value
    match value:
        case Decimal():
            plain = _Written(format(value, "f"))
        case datetime():
            plain = _Written(_time(value))
        case bytes() | bytearray():
            plain = bytes(value).hex()
        case Mapping():
            plain = {_plain_key(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            plain = [_plain(each) for each in value]
        case _:
            pass
    return plain


def _plain_key(key: object) -> object:
    plain = _plain(key)
    return plain if isinstance(plain, str) else str(plain)


class _Written(str):
    """A text that needs no quotes, such as that of a number."""

    __slots__ = ()


def _written(dumper: yaml.SafeDumper, value: _Written) -> yaml.Node:
    tag = "float" if "-" not in value[1:] and ":" not in value else "timestamp"
    if tag == "float" and "." not in value:
        tag = "int"
    return dumper.represent_scalar(f"tag:yaml.org,2002:{tag}", value)


_Dumper.add_representer(_Written, _written)


def _time(value: datetime) -> str:
    local = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    return local.isoformat(sep=" ")


def _start(instant: datetime) -> object:
    local = instant.astimezone(UTC)
    return local.date() if local.time() == datetime.min.time() else _Written(_time(local))


def _end(instant: datetime) -> object:
    """An exclusive end as people write it: that of a day is the day."""
    local = instant.astimezone(UTC)
    if local.time() != datetime.min.time():
        return _Written(_time(local))
    return local.date() - timedelta(days=1)
