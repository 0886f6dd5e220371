"""Rows that a person accepted, reported to Dagster: no run has written them."""

from __future__ import annotations

import dagster as dg

from vde_dagster.app.apply.accepting import Accepted
from vde_dagster.app.binding import bind_environment
from vde_dagster.app.view_names import naming_of
from vde_dagster.composition import VdeProject
from vde_dagster.orchestration.checks import named, shown_results
from vde_dagster.orchestration.home import dagster_home
from vde_dagster.orchestration.known_events import events_of, input_provenance
from vde_dagster.orchestration.translating import names_of


def report_accepted(project: VdeProject, accepted: Accepted) -> None:
    """Report the intervals that were published, and the checks that a person overruled.

    Of a version that the environment does not show yet, the promotion reports them.
    """
    services, binding, done = project.services, accepted.binding, accepted.done
    name = done.key.model
    shown = bind_environment(services, binding.environment)
    if shown is None or name not in shown.snapshots or shown.key(name) != done.key:
        return
    names = names_of(project, binding, naming_of(services, binding.environment))
    keys = names.keys
    node, work = binding.node(name), services.state.work(done.work_id)
    checks = shown_results(binding, node, [work] if work is not None else [])
    home = dagster_home(project.configuration)
    with dg.DagsterInstance.from_config(str(home)) as instance:
        provenance = input_provenance(instance, [keys[each] for each in node.model.parents])
        for event in events_of(instance, binding, node, keys, done, provenance=provenance):
            instance.report_runless_asset_event(event)
        for found in named(checks, name, names.checks):
            instance.report_runless_asset_event(found.for_job(keys[name]))
