"""The group of all commands. A command's module is imported only when it is called."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import click

from vde_dagster.cli import failures
from vde_dagster.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A command as the list of commands shows it; ``module`` has it as ``command``."""

    module: str
    summary: str


COMMANDS: Final = {
    "init": Listed(
        module="vde_dagster.cli.init", summary="Create a small project, or copy an example."
    ),
    "plan": Listed(
        module="vde_dagster.cli.plan",
        summary="Show what would change in an environment, and apply it.",
    ),
    "apply": Listed(
        module="vde_dagster.cli.apply", summary="Apply a plan that was saved and reviewed."
    ),
    "promote": Listed(
        module="vde_dagster.cli.promote", summary="Show in one environment what another one shows."
    ),
    "rollback": Listed(
        module="vde_dagster.cli.rollback", summary="Show again what an environment showed before."
    ),
    "history": Listed(
        module="vde_dagster.cli.history", summary="List what was promoted to an environment."
    ),
    "ci": Listed(
        module="vde_dagster.cli.ci", summary="The steps of a pull request, one command each."
    ),
    "run": Listed(
        module="vde_dagster.cli.run",
        summary="Compute what is due, and what is late or changed upstream.",
    ),
    "status": Listed(
        module="vde_dagster.cli.status",
        summary="Show what is behind or went wrong in an environment, and why.",
    ),
    "diff": Listed(module="vde_dagster.cli.diff", summary="Compare what two environments show."),
    "table-diff": Listed(
        module="vde_dagster.cli.table_diff",
        summary="Compare the rows of a model in two environments.",
    ),
    "compare": Listed(
        module="vde_dagster.cli.compare",
        summary="Compare two revisions of a project: changes and their effects.",
    ),
    "query": Listed(
        module="vde_dagster.cli.query", summary="Run a query on the views of an environment."
    ),
    "environments": Listed(
        module="vde_dagster.cli.environments", summary="List environments and what they show."
    ),
    "evaluate": Listed(
        module="vde_dagster.cli.evaluate", summary="Show the rows that a model would return."
    ),
    "test": Listed(
        module="vde_dagster.cli.unit_tests",
        summary="Run the unit tests of models, on rows that they give.",
    ),
    "create-test": Listed(
        module="vde_dagster.cli.create_test",
        summary="Write a unit test of a model from live rows.",
    ),
    "render": Listed(
        module="vde_dagster.cli.render", summary="Show the SQL that a model runs for a range."
    ),
    "intervals": Listed(
        module="vde_dagster.cli.intervals",
        summary="Show the loaded and the missing intervals of models.",
    ),
    "lineage": Listed(
        module="vde_dagster.cli.lineage", summary="Show the lineage of models and columns."
    ),
    "fingerprint": Listed(
        module="vde_dagster.cli.fingerprint",
        summary="Show the fingerprints of models, and what is hashed.",
    ),
    "format": Listed(
        module="vde_dagster.cli.format", summary="Format SQL models without changing their meaning."
    ),
    "create-external-models": Listed(
        module="vde_dagster.cli.external_models",
        summary="Declare sources from the catalog's metadata.",
    ),
    "catch-up": Listed(
        module="vde_dagster.cli.catch_up", summary="Find late rows and load them exactly once."
    ),
    "late": Listed(
        module="vde_dagster.cli.late",
        summary="Show high-water marks, what is pending, and past sessions.",
    ),
    "audit": Listed(
        module="vde_dagster.cli.audit",
        summary="Run the audits of a model on the rows that it holds.",
    ),
    "audits": Listed(
        module="vde_dagster.cli.audits", summary="Show the results of audits, with failing rows."
    ),
    "publish": Listed(
        module="vde_dagster.cli.publish", summary="Publish rows that blocking audits refused."
    ),
    "pause": Listed(
        module="vde_dagster.cli.pause", summary="Stop evaluating models until they are resumed."
    ),
    "resume": Listed(module="vde_dagster.cli.resume", summary="Evaluate paused models again."),
    "verify": Listed(
        module="vde_dagster.cli.verify",
        summary="Check the rows in storage against recorded digests.",
    ),
    "repair": Listed(
        module="vde_dagster.cli.repair",
        summary="Repair a table that is not as recorded, without losing rows.",
    ),
    "unlock": Listed(
        module="vde_dagster.cli.unlock",
        summary="List what processes hold, or free it from one that is gone.",
    ),
    "invalidate": Listed(
        module="vde_dagster.cli.invalidate", summary="Remove an environment with its views."
    ),
    "janitor": Listed(
        module="vde_dagster.cli.janitor",
        summary="Drop what nothing refers to any more.",
    ),
    "maintain": Listed(
        module="vde_dagster.cli.maintain",
        summary="Rewrite small files, and remove old Iceberg snapshots and files.",
    ),
    "state": Listed(
        module="vde_dagster.cli.state",
        summary="Check the state, move it forward, and copy it to another database.",
    ),
    "savings": Listed(
        module="vde_dagster.cli.savings",
        summary="Show how much computation was saved.",
    ),
    "timeline": Listed(
        module="vde_dagster.cli.timeline",
        summary="Show what a plan or run spent its time on.",
    ),
    "ui": Listed(module="vde_dagster.cli.ui", summary="Serve the project in Dagster's UI."),
    "doctor": Listed(
        module="vde_dagster.cli.doctor",
        summary="Try all that a project needs, and say what to mend.",
    ),
    "jars": Listed(
        module="vde_dagster.cli.jars", summary="Download the jars that Spark needs, and print them."
    ),
}


class Reporting(click.Command):
    """A command whose failures leave through `failures`."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's own signature
        """Run a command. Exit code 1 with a message where it is refused or fails."""
        try:
            with failures.warnings_reported(ctx):
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click knows them; the last is `vde ... | head`
        except Exception as error:  # the outermost edge: a message, not a traceback
            failures.report(ctx, error)
            ctx.exit(1)


class LazyGroup(Reporting, click.Group):
    """Imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which a new user needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None where there is none."""
        listed = COMMANDS.get(cmd_name)
        if listed is None:
            return None
        command = import_module(listed.module).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, listed.summary) for name, listed in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 refused or failed with a message, 2 wrong usage.",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def vde() -> None:
    """Virtual data environments on Dagster, Spark and Iceberg."""
