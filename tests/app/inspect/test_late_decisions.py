"""Decisions of sessions, explained and made again from what is stored of them."""

from __future__ import annotations

import pytest

from tests.app.catch_up.lifecycle import CANCELS, MODELS, SIGNUPS, span
from tests.app.catch_up.test_sessions import NAME, TWICE, project
from tests.app.catch_up.test_stateful import late_data_comes, loaded_to_hour_five
from tests.app.memory_world import MemoryWorld, bound
from vde_dagster.app.inspect.late_report import explain_next, explain_session, past_sessions
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.late.deciding import decide
from vde_dagster.core.ledger.late.decision import Decision, Load
from vde_dagster.core.ledger.late.question import StatefulQuestion, StatelessQuestion
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.names import TableName


def decided_again(services: Services, work: UnitOfWork) -> Decision:
    """The decision of a session, made again from what is stored of it."""
    asked = services.state.question(work.intent.work_id)
    assert isinstance(asked, StatelessQuestion | StatefulQuestion)
    return decide(asked)


@pytest.mark.full
def test_every_session_is_decided_again_the_same_from_what_is_stored() -> None:
    life = loaded_to_hour_five()
    late_data_comes(life)
    for name in MODELS:
        life.catch_up(name)
    services = life.services()
    binding = bound(services)
    life.world.catalog.expire(TableName("raw", "signups"))  # what was found is gone meanwhile
    works = [work for name in MODELS for work in past_sessions(services, binding, name, limit=9)]
    assert len(works) == 2 * len(MODELS)
    for work in works:
        assert decided_again(services, work) == work.intent.session


def test_the_next_decision_is_explained_with_all_that_it_is_made_from() -> None:
    life = loaded_to_hour_five()
    late_data_comes(life)
    services = life.services()
    found = explain_next(services, bound(services), SIGNUPS)
    assert isinstance(found.question, StatelessQuestion)
    assert isinstance(found.decision, Load)
    assert len(found.question.history.changes) == 3
    assert found.question.loaded == (span(0, 5),)
    assert explain_next(services, bound(services), SIGNUPS).decision == found.decision


def test_a_past_session_is_explained_from_the_store() -> None:
    life = loaded_to_hour_five()
    services = life.services()
    binding = bound(services)
    (work,) = past_sessions(services, binding, CANCELS, limit=1)
    found = explain_session(services, binding, CANCELS, work.intent.work_id)
    assert isinstance(found.question, StatefulQuestion)
    assert found.question.missing == (span(0, 5),)
    assert found.decision == work.intent.session
    with pytest.raises(Refused, match="has no session"):
        explain_session(services, binding, SIGNUPS, work.intent.work_id)


def test_rows_of_earlier_columns_are_part_of_what_is_stored() -> None:
    world = MemoryWorld.landed((0.5, 10), (1.5, 5), until=2)
    world.build(project())
    world.build(project(more=TWICE))
    world.land((0.6, 100), until=2)
    services = world.services()
    world.catch_up(NAME)
    assert world.amounts("a.p") == [5, 10, 100]
    (latest,) = past_sessions(services, world.bound(), NAME, limit=1)
    assert decided_again(services, latest) == latest.intent.session
    asked = services.state.question(latest.intent.work_id)
    assert isinstance(asked, StatelessQuestion)
    assert asked.outgrown
