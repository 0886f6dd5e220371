"""What becomes of rows if it changes which row or interval they are: the function and its table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.app.plan.identity_edits import NAME, TIMELESS, Edit, Written, every_edit
from vde_dagster.core.model.kinds import Embedded, External, ScdType2ByColumn, ScdType2ByTime, View
from vde_dagster.core.model.row_identity import (
    Alone,
    IdentityChange,
    Kept,
    Property,
    fate,
    identity_changes,
    is_kept,
)
from vde_dagster.core.planning.changes.computed_values import computed_changes
from vde_dagster.core.time.intervals import Interval

EDITS = list(every_edit())


def changes(before: Written, after: Written) -> list[IdentityChange]:
    """All that a plan finds of an edit."""
    return [
        *identity_changes(before.node.model, after.node.model),
        *computed_changes(before.graph, after.graph, NAME),
    ]


@pytest.mark.parametrize("changed", Property)
def test_both_kinds_of_history_are_one_column_of_the_table(changed: Property) -> None:
    assert fate(changed, ScdType2ByTime) == fate(changed, ScdType2ByColumn)


@pytest.mark.parametrize("changed", Property)
def test_kinds_that_no_time_makes_due_have_rows_of_one_kind_only(changed: Property) -> None:
    for kind in TIMELESS:
        assert (fate(changed, kind) is not None) == (changed is Property.KIND)
    for kind in (View, Embedded, External):
        assert fate(changed, kind) is None


@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_an_edit_is_found_as_what_it_changes(edit: Edit) -> None:
    before, after = edit.sides(forward_only=False)
    assert [each.changed for each in changes(before, after)] == [edit.changed]


@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_an_edit_makes_a_new_table_by_itself_where_its_fingerprint_says_so(edit: Edit) -> None:
    before, after = (each.node.fingerprint for each in edit.sides(forward_only=False))
    found = fate(edit.changed, edit.kind)
    assert found is not None
    assert (before.data != after.data) == (
        found.alone is Alone.REBUILT or (found.alone is Alone.TIMED and edit.timed)
    )


def test_what_is_loaded_decides_about_units_and_starts() -> None:
    for edit in EDITS:
        found = fate(edit.changed, edit.kind)
        assert found is not None
        before, after = edit.sides(forward_only=True)
        (change,) = changes(before, after)
        model, unit = after.node.model, after.node.model.unit
        whole = Interval(unit.ceil(model.start), unit.shifted(unit.ceil(model.start), 2))
        later = Interval(unit.shifted(whole.start, 1), whole.end)
        half = Interval(whole.start, whole.start + (whole.end - whole.start) * 3 / 4)
        kept = {
            Kept.COUNTS: (True, True, True),
            Kept.WHOLE: (True, True, False),
            Kept.NOT_BEFORE: (True, False, True),
            Kept.REFUSED: (False, False, False),
        }[found.kept]
        answers = tuple(is_kept(change, model, [each]) for each in (whole, later, half))
        assert answers == kept, edit


def test_the_parts_of_a_key_have_no_order() -> None:
    edit = next(e for e in EDITS if e.changed is Property.UNIQUE_KEY)
    before, after = edit.sides(forward_only=False)
    one = replace(before, options="unique_key (id, day)").node.model
    other = replace(after, options="unique_key (day, id)").node.model
    assert not list(identity_changes(one, other))
