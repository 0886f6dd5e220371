"""When assets of a user's own that read models run: Dagster's declarative automation.

Models have launchers of their own (automation.md); these conditions are for assets downstream
of models. They combine Dagster's built-in operands, so that its daemon evaluates them without this
package. Three findings from running Dagster (1.13) explain how they are built:

- ``AutomationCondition.eager()`` asks whether a parent was materialized, and looks at the latest
  partition alone: an equal result starts a run, and a late hour of the day before starts none.
- ``since_last_handled()`` forgets what happens in the tick after a request and while its run is
  under way, though the run may have read what was there before.
- What happened before the first evaluation is not known: then what is missing is requested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from vde_dagster.core.time.zones import zone_of

if TYPE_CHECKING:
    from vde_dagster.orchestration._unpublished import AndCondition

    Condition = AndCondition[dg.AssetKey | dg.AssetCheckKey]

_Condition = dg.AutomationCondition
_Anything = dg.AutomationCondition[dg.AssetKey | dg.AssetCheckKey]


def on_changed_data(*, may_lack: dg.AssetSelection | None = None) -> Condition:
    """A condition for your own asset: it runs when the data of something that it reads has changed.

    A parent changed if its data version (for models the D-SHA of an interval) is another one, in
    any partition, also in one of last month. A parent that is computed again with equal rows starts
    nothing. Partitions that are missing are filled as soon as everything that they read is there.

    A request waits until its parents are there, and none of them is running or about to run. A
    change that comes while the asset runs starts it once more; so does one in a run by hand of
    parent and asset together, which looks the same. A run that fails is not requested again before
    the next change: ``dagster/max_retries`` and `dagster.RetryPolicy` are for that.

    Args:
        may_lack: Parents that need not be there as a whole: sources that Dagster never sees
            materialized, and for an asset without partitions models that have holes.

    Returns:
        The condition. Restrict it with ``&``, or leave parents out with ``.ignore(selection)``.

    Example:
        ```python
        import dagster as dg
        from vde_dagster import build_definitions, on_changed_data

        @dg.asset(
            deps=[dg.AssetKey(["mart", "airport_delays"])],
            partitions_def=dg.DailyPartitionsDefinition("2024-01-01"),
            automation_condition=on_changed_data(),
        )
        def delay_report(): ...

        prod = dg.Definitions.merge(
            build_definitions("."), dg.Definitions(assets=[delay_report])
        )
        ```
    """
    changed = _Condition.any_deps_match(_Condition.data_version_changed()).with_label(
        "any_deps_data_version_changed"
    )
    requested = _Condition.newly_requested()
    pending = changed.since(requested & ~changed).with_label("changed_since_last_requested")
    missing = _Condition.newly_missing().since(requested | _Condition.newly_updated())
    return ((pending | missing.with_label("newly_missing")) & _is_possible(may_lack)).with_label(
        "on_changed_data"
    )


def when_due(
    cron: str, timezone: str = "UTC", *, may_lack: dg.AssetSelection | None = None
) -> Condition:
    """A condition for your own asset: it runs at the ticks of a cron, once what it reads is there.

    At a tick the latest partition and those that are missing are requested, each as soon as all
    that it reads is there: yesterday waits for its 24 hours, however late the last one comes.
    Parents need not have been computed since the tick: that is `AutomationCondition.on_cron`, which
    waits in vain for a model that has nothing new. What failed is requested again at the next tick,
    where it is still missing.

    Args:
        cron: Five fields, or a name such as ``@daily``.
        timezone: The zone of its ticks, such as ``Europe/Berlin``.
        may_lack: Parents that need not be there as a whole, see `on_changed_data`.

    Returns:
        The condition. ``& dg.AutomationCondition.in_latest_time_window(timedelta(days=7))`` keeps
        it from filling what is older.

    Raises:
        ZoneUnknown: There is no such time zone.
        CheckError: The cron is not understood (Dagster's).

    Example:
        ```python
        import dagster as dg
        from vde_dagster import when_due

        @dg.asset(
            deps=[dg.AssetKey(["core", "flights"])],
            partitions_def=dg.DailyPartitionsDefinition("2024-01-01"),
            automation_condition=when_due("0 6 * * *", "Europe/Berlin"),
        )
        def morning_mail(): ...
        ```
    """
    zone_of(timezone)
    tick: _Anything = _Condition.cron_tick_passed(cron, timezone)
    due = tick.since(_Condition.newly_requested()).with_label("due")
    wanted = (_Condition.in_latest_time_window() | _Condition.missing()).with_label(
        "latest_or_missing"
    )
    return (wanted & due & _is_possible(may_lack)).with_label(f"when_due({cron}, {timezone})")


def _is_possible(
    may_lack: dg.AssetSelection | None,
) -> Condition:
    """Whether all inputs are there, and neither they nor the asset are about to be computed."""
    every = _Condition.any_deps_match(_Condition.missing()).with_label("any_deps_missing")
    lacking: _Anything = every if may_lack is None else every.ignore(may_lack)
    requested = _Condition.any_deps_match(_Condition.will_be_requested())
    return (
        ~lacking
        & ~_Condition.any_deps_in_progress()
        & ~requested.with_label("any_deps_requested")
        & ~_Condition.in_progress()
    )
