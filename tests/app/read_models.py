"""Models as they were read before, in memory: reading them is half of what a small plan does.

It is the product's cache of models (`Services.models`) without its file, under the product's keys:
of all texts that a model depends on. So each text is read, in the form of the files and in that of
the state, once in each process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from unittest.mock import patch

import pytest

from tests import counting
from vde_dagster.core.graph.deriving import Derived
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.project.cache import models as cache
from vde_dagster.project.cache.keys import source_digest
from vde_dagster.project.cache.models import KnownModels, ModelCache


@dataclass(slots=True)
class _Known(KnownModels):
    """Looks up models and what was derived from them among all that were read."""

    models: dict[str, Model] = field(default_factory=dict)
    derived: dict[str, Derived] = field(default_factory=dict)

    def model(self, source: ModelSource, read: Callable[[ModelSource], Model]) -> Model:
        """The model of a source: as it was read before, else as it is read now."""
        key = source_digest(source)
        if key in self.models:
            return self.models[key]
        model = read(source)
        if self._may_be_kept(model.source):
            self.models[key] = model
        return model

    def _get_derived(self, key: str) -> Derived | None:
        return self.derived.get(key)

    def _put_derived(self, key: str, derived: Derived) -> None:
        self.derived[key] = derived


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadModels(ModelCache):
    """What was read since it was made."""

    path: Path = Path("nowhere")
    code: str = "the code of this process"
    models: dict[str, Model] = field(default_factory=dict)
    derived: dict[str, Derived] = field(default_factory=dict)

    @contextmanager
    def known(self) -> Iterator[KnownModels]:
        """The models that were read."""
        yield _Known(None, self.code, models=self.models, derived=self.derived)


_EVERY: Final = ReadModels()
_WITH_CODE: Final = ReadModels()
_used: list[ReadModels] = []


def forget_models(most: int) -> None:
    """Forget all that was read, if it is more than some models: the trees of each take memory."""
    for kept in (_EVERY, _WITH_CODE):
        if len(kept.models) > most:
            kept.models.clear()
            kept.derived.clear()


def read_before() -> ModelCache | None:
    """What worlds in memory read models with now; None to read each of them again."""
    return _used[-1] if _used else None


@contextmanager
def reading_once(*, code_too: bool = False) -> Iterator[None]:
    """Read no model again that was read in this process.

    A test that replaces code of the product, or counts what it calls, is not to have this.

    Args:
        code_too: Nor models that are code, which have to depend on their texts alone.
    """
    _used.append(_WITH_CODE if code_too else _EVERY)
    lasting = patch.object(cache, "is_lasting", lambda _source: True)
    try:
        with lasting if code_too else nullcontext():
            yield
    finally:
        _used.pop()


@contextmanager
def reading_as_fits(request: pytest.FixtureRequest) -> Iterator[None]:
    """Read models once, unless a test replaces code of the product or counts its calls.

    Such a test would get what the other code made, or count what others have done for it.
    """
    counts = getattr(request.module, "calls_of", None) is counting.calls_of
    if counts or "monkeypatch" in request.fixturenames:
        yield
    else:
        with reading_once():
            yield
