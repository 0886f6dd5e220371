"""A Python model's function with the modules of its project, here and on Spark's workers.

Workers have no file of the project. What a function that they run refers to travels with it as code
(cloudpickle calls that *by value*): so do the project's functions and classes that a model imports
at its top, and its modules with what is in them. An ``import`` in the body of a function is carried
out on the worker; so the texts of the model's modules travel with each of its functions, and the
worker finds modules by these before it looks anywhere else.

They are the texts that the model was planned with. Files that were added to the session (Spark's
``addPyFile`` and ``addArtifacts``) would stay there for all models that come later, and a worker
that serves several would find the first version of a module for all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.unit_of_work import PythonRows
from vde_dagster.core.model.module_texts import importable, install
from vde_dagster.runtime.users_code import run_code, running_users_code, users_module

if TYPE_CHECKING:
    from vde_dagster.lakehouse.staging.evaluation import ModelContext

_SENDER: Final = uuid4().hex
"""This process, for what it sends: where that comes back to it, there is nothing to do."""


@contextmanager
def model_function(rows: PythonRows) -> Iterator[Callable[[ModelContext], object]]:
    """The function, while it can be called.

    Raises:
        EvaluationFailed: Its file defines no such function.
        Exception: Whatever the code of its file raises.
    """
    texts = dict(rows.modules)

    def shipped(module: ModuleType) -> None:
        _travels_by_value(module)
        module.__class__ = _TravellingModule
        module.__package__ = TravellingText(module.__package__ or "", texts)

    for each in (install, _arrived):  # workers have nothing of this package, either
        _travels_by_value(sys.modules[each.__module__])
    with (
        importable(texts, loaded=shipped),
        users_module("model") as module,
        _by_value(module),
        running_users_code(),
    ):
        module.__file__ = rows.path
        module.__package__ = TravellingText("", texts)
        run_code(rows.source, rows.path, module)
        function = module.__dict__.get(rows.function)
        if not callable(function):
            raise EvaluationFailed(f"{rows.path} does not define the function {rows.function}")
        yield function


class TravellingText(str):
    """The name of a package, with which the texts of the project's modules travel.

    cloudpickle sends ``__package__`` with each function of a module, and nothing else reads it.
    Where the name arrives, it is a text like any other, and the modules can be imported.

    Args:
        text: The name.
        modules: The texts of what the package's code may import, by their paths in the project.
    """

    modules: Mapping[str, str]

    def __new__(cls, text: str, modules: Mapping[str, str]) -> TravellingText:
        """A text is made immediately, since it cannot change afterwards."""
        found = super().__new__(cls, text)
        found.modules = modules
        return found

    def __reduce__(self) -> tuple[Callable[..., str], tuple[str, Mapping[str, str], str]]:
        return _arrived, (str(self), self.modules, _SENDER)


class _TravellingModule(ModuleType):
    """A module that travels before what is in it, so that modules may refer to each other.

    cloudpickle sends what is in a module first, and would not come to an end.
    """

    def __reduce__(self) -> tuple[type[ModuleType], tuple[str], dict[str, object]]:
        content = {name: each for name, each in vars(self).items() if name != "__builtins__"}
        return ModuleType, (self.__name__,), content


def _arrived(text: str, modules: Mapping[str, str], sender: str) -> str:
    if getattr(sys.modules.get(__name__), "_SENDER", None) != sender:
        install(modules)
    return text


@contextmanager
def _by_value(module: ModuleType) -> Iterator[None]:
    """Ship a module's functions as code as long as Python knows it; afterwards all do so."""
    from pyspark.cloudpickle import unregister_pickle_by_value

    _travels_by_value(module)
    try:
        yield
    finally:
        unregister_pickle_by_value(module)  # type: ignore[no-untyped-call] # pyspark types it not


def _travels_by_value(module: ModuleType) -> None:
    """Ship a module's functions to Spark's workers as code, since they cannot import it."""
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(module)  # type: ignore[no-untyped-call] # pyspark types it not
