"""A column that a source gets: what reads the source as a whole is computed once more, no more."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.app.generated_models import Form, Made, project
from tests.app.memory_world import RAW, MemoryWorld
from vde_dagster.core.columns import Column


@pytest.mark.parametrize(
    "form, computed",
    [(Form.COPY, set()), (Form.SUMS, set()), (Form.FULL, {"m0"}), (Form.FULL_UNTIL, {"m0"})],
)
def test_who_is_computed_again_after_a_column_that_nobody_reads(
    form: Form, computed: set[str]
) -> None:
    models = (
        Made(name="m0", form=form, parents=("raw.events",)),
        Made(name="m1", form=Form.FULL, parents=("gen.m0",)),
    )
    world = MemoryWorld.landed((1.5, 1), (2.5, 2), until=4)
    world.build(project(models))
    before = world.rows("gen.m0")
    world.clock.advance(timedelta(minutes=1))
    table = world.catalog.tables[RAW]
    table.widen((*table.columns, Column(name="spare", type="bigint")))
    world.catalog.compact(RAW)
    done = world.run()
    assert {each.key.model.name for each in done if not each.reused} == computed
    assert world.rows("gen.m0") == before
    assert world.plan_run().is_empty
