"""Kept engines are those of Dagster's databases, also of one that was deleted and created again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy

from tests.dagster_storage import CREATING, keep_engines, kept_engine
from tests.orchestration.served import instance_at


@dg.op
def work() -> None:
    """Nothing."""


@dg.job
def job() -> None:
    work()


def test_an_engine_is_made_once_for_each_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_engines()
    asked: list[str] = []
    made: set[int] = set()

    def counted(address: str, **settings: Any) -> sqlalchemy.Engine:
        engine = kept_engine(address, **settings)
        asked.append(address)
        made.add(id(engine))
        return engine

    for module in CREATING:
        monkeypatch.setattr(module, "create_engine", counted)
    with instance_at(tmp_path) as instance:
        assert job.execute_in_process(instance=instance).success
        assert len(instance.get_runs()) == 1
    assert len(asked) > 20
    assert len(made) == len(set(asked))


def test_a_database_of_the_same_name_has_nothing_of_the_one_before(tmp_path: Path) -> None:
    keep_engines()
    for name in ("first", "second"):
        (tmp_path / "home").mkdir()
        with instance_at(tmp_path / "home") as instance:
            assert instance.get_runs() == []
            assert job.execute_in_process(instance=instance).success
            assert len(instance.get_runs()) == 1
        (tmp_path / "home").rename(tmp_path / name)
