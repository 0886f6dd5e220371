"""A Python model's function with the modules of its project, here and on Spark's workers.

Workers have no file of the project. What a function that they run refers to travels with it as code
(cloudpickle calls that *by value*): so do the project's functions and classes that a model imports
at its top. An ``import`` in the body of a function is carried out on the worker; so the texts of
the model's modules travel with each of its functions, and the worker finds modules by these before
it looks anywhere else.

They are the texts that the model was planned with. Files that were added to the session (Spark's
``addPyFile`` and ``addArtifacts``) would stay there for all models that come later, and a worker
that serves several would find the first version of a module for all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.unit_of_work import PythonRows
from vde_dagster.core.model.module_texts import importable, install
from vde_dagster.core.users_code import running_users_code

if TYPE_CHECKING:
    from vde_dagster.lakehouse.evaluation import ModelContext


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
        if path := getattr(module, "__file__", None):
            module.__file__ = TravellingPath(path, texts)

    for each in (install, _arrived):  # workers have nothing of this package, either
        _travels_by_value(sys.modules[each.__module__])
    path = TravellingPath(rows.path, texts)
    namespace: dict[str, object] = {"__name__": "__vde_model__", "__file__": path}
    with importable(texts, loaded=shipped), running_users_code():
        exec(compile(rows.source, rows.path, "exec"), namespace)  # noqa: S102 - the user's model
        function = namespace.get(rows.function)
        if not callable(function):
            raise EvaluationFailed(f"{rows.path} defines no function {rows.function}")
        yield function


class TravellingPath(str):
    """The path of a file of code, with which the texts of the project's modules travel.

    cloudpickle sends ``__file__`` with each function of a module. Where the path arrives, it is a
    path, and the modules can be imported.

    Args:
        path: As error messages have it.
        texts: The modules that the code may import, by their paths in the project.
    """

    texts: Mapping[str, str]

    def __new__(cls, path: str, texts: Mapping[str, str]) -> TravellingPath:
        """A path is a text, which nobody can change after it was made."""
        found = super().__new__(cls, path)
        found.texts = texts
        return found

    def __reduce__(self) -> tuple[Callable[..., str], tuple[str, Mapping[str, str]]]:
        return _arrived, (str(self), self.texts)


def _arrived(path: str, texts: Mapping[str, str]) -> str:
    install(texts)
    return path


def _travels_by_value(module: ModuleType) -> None:
    """Ship a module's functions to Spark's workers as code, since they cannot import it."""
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(module)  # type: ignore[no-untyped-call] # pyspark types it not
