"""The job `vde_catch_up`: what `vde catch-up` does, from the launchpad or for the sensor."""

# No `from __future__ import annotations`: Dagster reads the annotations of an op as objects.
from collections.abc import Iterator, Sequence
from dataclasses import replace

import dagster as dg
from pydantic import Field

from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.detecting import detect, late_models
from vde_dagster.app.catch_up.listing import list_late_data
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.inspect.unit_text import decision_text
from vde_dagster.app.services import Services
from vde_dagster.core.errors import EvaluationFailed, Refused, VdeError
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.unresolved import guess
from vde_dagster.orchestration.failures import failures
from vde_dagster.orchestration.jobs import CATCH_UP_JOB, CATCH_UP_OP
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.metadata import Metadata
from vde_dagster.orchestration.session_events import Outcome, outcome_metadata, session_events
from vde_dagster.orchestration.steps import current_binding, show_result, store_followed


class CatchUpConfig(dg.Config):
    """What `vde catch-up` takes."""

    model: str | None = Field(
        default=None,
        description="The model. Without it, every model with late data that this environment may "
        "write, each in a session of its own.",
    )
    models: list[str] | None = Field(
        default=None,
        description="Several models, each in a session of its own, and those with late data that "
        "read them, parents first.",
    )
    explain: bool = Field(default=False, description="Only show what a session would do, and why.")
    reload: bool = Field(
        default=False,
        description="Load all of `model` again from its source as it is now. Rows gone there are "
        "lost.",
    )


def build_catch_up_job(location: Location) -> dg.JobDefinition | None:
    """The job that runs catch-up sessions; None if no model of the environment has late data."""
    if not late_models(location.binding):
        return None

    @dg.op(
        name=CATCH_UP_OP,
        out=dg.Out(dg.Nothing),
        description="Load the due and the late rows of one model, or of all, each in one commit.",
    )
    def run_sessions(context: dg.OpExecutionContext, config: CatchUpConfig) -> Iterator[object]:
        with failures():
            names = _names(location, config)
            if config.explain:
                lines = _explained(location, names, reload=config.reload)
                text = "\n".join(f"- {line}" for line in lines)
                context.log.info("\n".join(lines))
                yield dg.Output(None, metadata={"vde/sessions": dg.MetadataValue.md(text)})
                return
            outcomes: dict[ModelName, Outcome] = {}
            yield from _sessions(context, location, config, names, outcomes)
            yield dg.Output(None, metadata=_metadata(location, outcomes))

    @dg.job(
        name=CATCH_UP_JOB,
        description=f"Catch-up sessions of the models of {location.environment} with late data.",
        tags=location.run_tags,
        executor_def=dg.in_process_executor,
    )
    def catch_up_job() -> None:
        run_sessions()

    return catch_up_job


def own_late_models(location: Location, binding: Binding) -> tuple[ModelName, ...]:
    """The models with late data whose version the environment may write (rule R9).

    Paused ones are among them: a sensor says so of them, and a run leaves them out.
    """
    names = late_models(binding)
    owners = location.project.services.state.owners(binding.key(name) for name in names)
    return tuple(
        name for name in names if may_write(location.environment, owners.get(binding.key(name)))
    )


def _names(location: Location, config: CatchUpConfig) -> tuple[ModelName, ...]:
    """The models of a run.

    Raises:
        Refused: There is no such model, or it is not named where it has to be.
    """
    if config.model is None:
        if config.reload:
            raise Refused("reload needs the model that is to be loaded again.")
        pauses = location.project.services.state.pauses(location.environment)
        every = own_late_models(location, location.binding)
        own = tuple(name for name in every if name not in pauses)
        return own if config.models is None else _with_trackers(location, own, config.models)
    if config.models is not None:
        raise Refused("model and models name different things", advice="give one of them.")
    return (_named(location, config.model),)


def _with_trackers(
    location: Location, own: Sequence[ModelName], names: Sequence[str]
) -> tuple[ModelName, ...]:
    """Some models, and those of its own that read them, parents first."""
    graph = location.binding.graph
    asked = {_named(location, each) for each in names}
    return tuple(name for name in own if asked & {node.name for node in graph.upstream([name])})


def _named(location: Location, written: str) -> ModelName:
    """The model of a name.

    Raises:
        Refused: There is none.
    """
    name = ModelName.parse(written).within(location.project.configuration.catalog.name)
    if name not in location.binding.graph:
        known = [str(node.name) for node in location.binding.graph]
        late = ", ".join(map(str, late_models(location.binding)))
        raise Refused(
            f"{location.environment} has no model {name}",
            advice=f"{guess(str(name), known)}With late data: {late}.",
        )
    return name


def _explained(location: Location, names: Sequence[ModelName], *, reload: bool) -> list[str]:
    """What sessions would do now; nothing is written, and Spark is not started."""
    services = location.project.services
    return [
        decision_text(name, detect(services, current_binding(location, name), name, reload=reload))
        for name in names
    ] or [_none_of_its_own(location)]


def _none_of_its_own(location: Location) -> str:
    return (
        f"{location.environment} may write no model with late data: the environments that own "
        "them load it"
    )


def _sessions(
    context: dg.OpExecutionContext,
    location: Location,
    config: CatchUpConfig,
    names: Sequence[ModelName],
    outcomes: dict[ModelName, Outcome],
) -> Iterator[object]:
    """One session after the other; if one model cannot be loaded, the others still are.

    Raises:
        VdeError: What went wrong; the error itself if it is the only one.
    """
    errors: list[VdeError] = []
    services = location.project.services
    services = replace(services, asked_at=services.clock.now())
    try:
        for name in names:
            try:
                yield from _session(
                    context, location, services, name, reload=config.reload, outcomes=outcomes
                )
            except VdeError as error:
                errors.append(error)
    finally:
        list_late_data(services)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise EvaluationFailed("\n".join(map(str, errors))) from errors[0]


def _session(
    context: dg.OpExecutionContext,
    location: Location,
    services: Services,
    name: ModelName,
    *,
    reload: bool,
    outcomes: dict[ModelName, Outcome],
) -> Iterator[object]:
    binding = current_binding(location, name)
    store_followed(location)

    def load() -> Outcome:
        loaded = catch_up(services, binding, name, reload=reload, lists=False)
        show_result(location, name)
        return loaded

    keys, names = location.keys(binding), location.names(binding)
    outcomes[name] = yield from session_events(
        context, services, binding, name, keys=keys, names=names, load=load
    )


def _metadata(location: Location, outcomes: dict[ModelName, Outcome]) -> Metadata:
    if not outcomes:
        return {"vde/reason": _none_of_its_own(location)}
    if len(outcomes) == 1:
        return outcome_metadata(*outcomes.values())
    found = {str(name): outcome_metadata(each) for name, each in outcomes.items()}
    rows = {name: each.get("vde/rows_written", 0) for name, each in found.items()}
    lines = [
        f"- `{name}`: {each.get('vde/reason') or f'{rows[name]:,} rows'}"
        for name, each in found.items()
    ]
    return {
        "vde/rows_written": sum(rows.values()),
        "vde/sessions": dg.MetadataValue.md("\n".join(lines)),
    }
