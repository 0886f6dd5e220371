"""Python models' functions find the modules of their project where they run, in any process."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyspark import cloudpickle

from tests.lakehouse.conftest import python_rows
from vde_dagster.core.ledger.unit_of_work import PythonRows
from vde_dagster.lakehouse.spark.model_functions import model_function
from vde_dagster.lakehouse.staging.evaluation import ModelContext

if TYPE_CHECKING:
    from tests.lakehouse.conftest import Lake

MODULES: Final = {
    "vde_names/__init__.py": "",
    "vde_names/plain.py": """\
from vde_names.words import LAST

def plain(name):
    from .words import without  # on the worker

    return without(name).strip() + LAST
""",
    "vde_names/words.py": """\
LAST = "!"

def without(name):
    return name.removesuffix("Inc.")
""",
}
"""A package whose modules import each other, at the top and later."""
EDITED: Final = {
    **MODULES,
    "vde_names/words.py": MODULES["vde_names/words.py"].replace("!", "?"),
}
AT_THE_TOP: Final = """\
from vde_names.plain import plain

def shown(name):
    return plain(name)
"""
LATER: Final = """\
def shown(name):
    from vde_names.plain import plain

    return plain(name)
"""
RUN_ELSEWHERE: Final = """
import pickle, sys

for sent in pickle.load(sys.stdin.buffer):
    try:
        print(pickle.loads(sent)("Delta Inc."))
    except ModuleNotFoundError as error:
        print(error.name)
print("vde_dagster" in sys.modules)
"""


def rows(source: str, modules: dict[str, str]) -> PythonRows:
    return python_rows(source, path="models/names.py", modules=modules)


def sent(source: str, modules: dict[str, str]) -> bytes:
    """The function `shown` as Spark sends it to a worker."""
    made = f"{source}\ndef run(context):\n    return shown\n"
    with model_function(rows(made, modules)) as run:
        function: Any = run(None)  # type: ignore[arg-type] # it asks its context nothing
        found: bytes = cloudpickle.dumps(function)  # type: ignore[no-untyped-call]
    return found


def elsewhere(folder: Path, *functions: bytes) -> list[str]:
    """What a process answers that has none of the modules and calls one after the other."""
    done = subprocess.run(
        [sys.executable, "-c", RUN_ELSEWHERE],
        input=pickle.dumps(functions),
        capture_output=True,
        check=True,
        cwd=folder,
    )
    return done.stdout.decode().splitlines()


@pytest.mark.full
def test_a_worker_has_the_texts_of_the_model_that_it_is_at(tmp_path: Path) -> None:
    """Whatever it served before, and whatever file lies where Python looks for modules."""
    (tmp_path / "vde_names.py").write_text("raise AssertionError('this file is not planned')")
    functions = [sent(LATER, each) for each in (MODULES, EDITED, MODULES)]
    functions.append(sent(AT_THE_TOP, MODULES))
    found = elsewhere(tmp_path, *functions)
    assert found[:-1] == ["Delta!", "Delta?", "Delta!", "Delta!"]
    assert found[-1] == "False", "nothing of this package is needed there"
    (tmp_path / "vde_names.py").unlink()
    found = elsewhere(tmp_path, sent(LATER, MODULES), sent(LATER, {}))
    assert found == ["Delta!", "vde_names", "False"], "a model without modules finds none"


def test_a_module_goes_to_a_worker_with_what_is_in_it(tmp_path: Path) -> None:
    """Also where modules refer to each other, and with what a model changes in one."""
    ring = {
        "vde_ring/__init__.py": "",
        "vde_ring/first.py": """\
import vde_ring.second

def plain(name):
    return vde_ring.second.without(name) + vde_ring.second.LAST
""",
        "vde_ring/second.py": """\
import vde_ring.first

LAST = "!"

def without(name):
    assert vde_ring.first.plain
    return name.removesuffix(" Inc.")
""",
    }
    as_a_module = (
        "import vde_ring.first\n\ndef shown(name):\n    return vde_ring.first.plain(name)\n"
    )
    by_another_name = (
        "from vde_ring import first as f\n\ndef shown(name):\n    return f.plain(name)\n"
    )
    changed = f"{as_a_module}\nvde_ring.second.LAST = '?'\n"
    functions = [sent(each, ring) for each in (as_a_module, by_another_name, changed)]
    assert elsewhere(tmp_path, *functions) == ["Delta!", "Delta!", "Delta?", "False"]


TYPED: Final = {
    "a dataclass": """\
from dataclasses import dataclass

@dataclass
class Rate:
    value: float = 1.5

def shown(name):
    return f"{name} {Rate().value}"
""",
    "a dataclass of texts as annotations": """\
from __future__ import annotations
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

@dataclass(frozen=True, slots=True)
class Rate:
    known: ClassVar[int] = 1
    _: KW_ONLY
    value: float = field(default=1.5)

def shown(name):
    return f"{name} {Rate().value}"
""",
    "annotations of its own types": """\
from __future__ import annotations
import typing

class Name(str): ...
class Pair(typing.NamedTuple):
    name: Name
class Typed(typing.TypedDict):
    name: Name

KNOWN = {key: str(each) for key, each in typing.get_type_hints(Pair).items()}

def shown(name):
    return f"{Pair(Name(name)).name} 1.5" if len(KNOWN) == 1 else "?"
""",
    "annotations are no texts": """\
def typed(name: str) -> str: ...

def shown(name):
    return f"{name} {1.5 if typed.__annotations__ == {'name': str, 'return': str} else 0}"
""",
}
"""Modules whose classes and functions ask Python for the module that they are in."""


@pytest.mark.parametrize("source", TYPED.values(), ids=TYPED.keys())
def test_classes_and_annotations_of_a_models_file_are_those_of_any_module(
    tmp_path: Path, source: str
) -> None:
    before = set(sys.modules)
    assert (
        elsewhere(tmp_path, sent(source, {}), sent(source, MODULES))[:2] == ["Delta Inc. 1.5"] * 2
    )
    assert not [each for each in set(sys.modules) - before if each.startswith("__vde")]


def test_two_files_that_run_in_one_another_have_their_own_classes() -> None:
    source = (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: {}\n"
        "def run(context):\n    return A\n"
    )
    with model_function(rows(source.format("int"), {})) as first:
        with model_function(rows(source.format("str"), {})) as second:
            one: Any = second(None)  # type: ignore[arg-type] # it asks its context nothing
        other: Any = first(None)  # type: ignore[arg-type] # it asks its context nothing
    assert (one.__annotations__, other.__annotations__) == ({"x": str}, {"x": int})
    assert one.__module__ != other.__module__


PANDAS: Final = """\
{}import pandas as pd
from dataclasses import dataclass
from pyspark.sql.functions import pandas_udf

@dataclass
class Names:
    last: str

@pandas_udf("string")
def shown(name: pd.Series) -> pd.Series:
    return name + Names("!").last

def run(context):
    names = context.spark.range(0, 4, 1, 4).selectExpr("concat('Delta ', id) AS name")
    return names.select(shown("name").alias("name"))
"""


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize("first", ["", "from __future__ import annotations\n"])
def test_a_typed_pandas_udf_and_a_dataclass_run_in_workers(lake: Lake, first: str) -> None:
    lake.publish(rows(PANDAS.format(first), {}))
    found = lake.table().scan().to_arrow()["name"].to_pylist()
    assert sorted(found) == [f"Delta {number}!" for number in range(4)]


def test_a_context_is_an_object_that_helpers_may_keep_results_by() -> None:
    given: Any = None
    at = datetime(2024, 1, 1, tzinfo=UTC)
    times = {"start": at, "end": at, "execution_time": at}
    made = [
        ModelContext(spark=given, variables={"a": 1}, _model="m.f", _tables={}, **times)
        for _ in range(2)
    ]
    kept = {context: number for number, context in enumerate(made)}
    assert [kept[each] for each in made] == [0, 1]
    assert "variables" not in repr(made[0])
