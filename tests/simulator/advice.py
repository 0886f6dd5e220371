"""What a text advises, carried out as it is written: commands, and tables to drop."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from tests.simulator.commands import Command, Models, People, apply_files, publish, run
from tests.worlds.catalog import MemoryCatalog
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.pausing import resume_models
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.catch_up.detecting import late_models
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.inspect.late_report import late_reports
from vde_dagster.app.inspect.status import look_at_operations, status_of
from vde_dagster.app.promote.taking import give_up_promotion, plan_promotion, plan_rollback
from vde_dagster.app.recover.recovery import repair
from vde_dagster.app.services import Services
from vde_dagster.cli.looks.late import late_lines
from vde_dagster.cli.looks.status import Looked
from vde_dagster.cli.looks.status_view import status_lines
from vde_dagster.cli.printing import print_all
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import parse_instant

_DROP: Final = re.compile(r"[Dd]rop (vde__\S+?)[ ;,]")
_TIED: Final = re.compile(r"(\S+)@\w+: different changes have the same")
"""A change that comes again after an edit may be another one; kinds.md says what to do."""
_LOOKS: Final = ("status", "history", "audits", "late", "diff", "unlock", "environments")
"""Commands that change nothing here: leases of dead processes are over before anybody unlocks."""
_COMMAND: Final = re.compile(r"`(?:\S*/run )?vde ([^`]+)`")


def advised(people: People, text: str, files: Models = ()) -> Iterator[tuple[str, Command]]:
    """What a text names that changes something, with its words.

    Plans are by these files; without any they are by those that their environment shows.

    Raises:
        ValueError: A command is advised that is not known here.
    """
    for written in dict.fromkeys(_DROP.findall(text)):
        yield f"drop {written}", Command(do=partial(_dropping, table=written))
    tied = (
        f"catch-up {name} --env {where} --reload"
        for name in _TIED.findall(text)
        for where, models in people.shows.items()
        if name in {str(each.key) for each in models}
    )
    for written in dict.fromkeys((*_COMMAND.findall(text), *tied)):
        words = shlex.split(written)
        environment = words[1] if len(words) > 1 else "prod"
        match words[0]:
            case "run":
                yield written, _run(environment, _options(words[2:]))
            case "plan":
                yield written, _plan(people, environment, files, _options(words[2:]))
            case "promote":
                taking = partial(plan_promotion, source=environment, target=words[2])
                yield written, _moving(people, environment, words[2], taking, words[3:])
            case "rollback":
                taking = partial(plan_rollback, environment=environment)
                yield written, _moving(people, environment, environment, taking, words[2:])
            case "repair":
                yield written, Command(do=partial(_repairing, name=words[1], where=_where(words)))
            case "resume":
                yield written, Command(do=partial(_resuming, name=words[1], where=_where(words)))
            case "catch-up":
                reload = "--reload" in words
                do = partial(_catching_up, name=words[1], where=_where(words), reload=reload)
                yield written, Command(do=do)
            case "publish":
                audits = [word for at, word in enumerate(words) if words[at - 1] == "--accept"]
                given = files or people.models
                do = partial(publish, files=given, work_id=words[1], audits=audits)
                yield written, Command(do=do)
            case "late" if words[1] == "status":
                do = partial(_loading_late, people=people, where=_where(words))
                yield written, Command(do=do)
            case word if word not in _LOOKS:
                raise ValueError(f"`vde {written}` is advised, and is none that is known here")


def status_text(services: Services, environment: str) -> str:
    """What `vde status` prints."""
    plan = plan_run(services, environment)
    looked = Looked(
        status=status_of(services, plan),
        operations=look_at_operations(services, plan),
        graph=plan.graph,
        folder=Path(),
    )
    # as wide as it wants to be: cells break lines in the middle of a command
    with patch.dict(os.environ, COLUMNS="1000"), redirect_stdout(StringIO()) as printed:
        print_all(status_lines(looked))
    return printed.getvalue()


def with_whole_commands(words: str, refusal: str) -> str:
    """A refusal whose options ("plan with --accept-loss") are added to the command it is about."""
    options = re.findall(r"plan with `?(--accept-loss|--allow-empty)", refusal)
    if "--skip-backfill" in refusal and "--skip-backfill" not in words:
        options += [f"{each} --skip-backfill" for each in options]
    return "\n".join([refusal, *(f"`vde {words} {option}`" for option in options)])


def _loading_late(services: Services, people: People, where: str) -> None:
    """Do what `vde late status` advises about late rows that wait for a person."""
    binding = _bound(services, where)
    reports = late_reports(services, binding, late_models(binding))
    printed = "\n".join(line for each in reports for line in late_lines(each, where))
    text = re.sub("to load it: (.*)", r"`\1`", printed)
    for _, asked in advised(people, text):
        asked.do(services)


def _where(words: Sequence[str]) -> str:
    return words[words.index("--env") + 1] if "--env" in words else "prod"


def _bound(services: Services, where: str) -> Binding:
    binding = bind_environment(services, where)
    if binding is None:
        raise Refused(f"there is no environment {where} yet", advice=f"`vde plan {where}`")
    return binding


def _dropping(services: Services, table: str) -> None:
    catalog = services.catalog
    assert isinstance(catalog, MemoryCatalog)
    name = TableName(*table.split("."))
    if name in catalog.tables:
        catalog.drop_table(name)


def _repairing(services: Services, name: str, where: str) -> None:
    found = repair(services, _bound(services, where), ModelName(*name.split(".")))
    if not found.is_sound:
        raise Refused(f"{name} is not repaired", advice=found.advice)


def _resuming(services: Services, name: str, where: str) -> None:
    resume_models(services, where, [ModelName(*name.split("."))])


def _catching_up(services: Services, name: str, where: str, reload: bool) -> None:
    catch_up(services, _bound(services, where), ModelName(*name.split(".")), reload=reload)


def _run(environment: str, options: dict[str, Any]) -> Command:
    return Command(do=lambda services: run(services, environment, options=PlanOptions(**options)))


def _plan(people: People, environment: str, files: Models, options: dict[str, Any]) -> Command:
    models = files or people.shows.get(environment, people.models)
    return Command(
        do=lambda services: apply_files(services, models, environment, **options),
        moves=environment,
        to=[models],
    )


def _moving(
    people: People, source: str, target: str, taking: Callable[..., Plan], words: Sequence[str]
) -> Command:
    """A promotion or a rollback, or that one is given up that was begun."""
    given = _options(words)
    number = {"number": given.pop("to")} if "to" in given else {}

    def do(services: Services) -> None:
        if given.pop("give_up", False):
            give_up_promotion(services, target)
        else:
            plan = taking(services, **number, options=PlanOptions(**given))
            apply_plan(services, plan, lambda _: None)

    return Command(do=do, moves=target, to=people.ever.get(source, ()))


def _options(words: Sequence[str]) -> dict[str, Any]:
    """The options of a plan, of the words of its command.

    Raises:
        ValueError: There is no such option.
    """
    options: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        match word:
            case "--restate-model":
                options["restate"] = (*options.get("restate", ()), next(rest))
            case "--start" | "--end":
                options[word[2:]] = parse_instant(next(rest))
            case "--to":
                options["to"] = int(next(rest))
            case "--auto-apply":
                pass
            case "--allow-empty" | "--accept-loss" | "--skip-backfill" | "--give-up":
                options[word[2:].replace("-", "_")] = True
            case _:
                raise ValueError(f"the option {word} is advised, and is none that is known here")
    return options
