"""The group of all commands. A command's module is imported only when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from vde_dagster.cli import failures
from vde_dagster.version import __version__

COMMANDS: Final = {
    "init": "Create a small project, or copy an example.",
    "import": "Convert a SQLMesh or dbt project to this tool.",
    "plan": "Show the changes to an environment, and apply them.",
    "apply": "Apply a plan that was saved and reviewed.",
    "promote": "Make one environment show the versions of another.",
    "rollback": "Make an environment show an earlier revision again.",
    "history": "List the promotions of an environment.",
    "ci": "Build, review, promote and clean up a pull request.",
    "run": "Compute due intervals, and intervals whose inputs are late or changed.",
    "adopt": "Fill a model with the rows of an existing table.",
    "status": "Show failures and overdue work in an environment.",
    "diff": "Compare the models that two environments show.",
    "table-diff": "Compare the rows of a model in two environments.",
    "compare": "Compare two revisions of a project: changes and their effects.",
    "query": "Run a query on the views of an environment.",
    "environments": "List environments, with their revision and expiry.",
    "evaluate": "Show the rows that a model would return.",
    "test": "Run the unit tests of models.",
    "create-test": "Write a unit test for a model from live rows.",
    "render": "Show the SQL that a model runs for a range.",
    "intervals": "Show loaded and missing intervals of models.",
    "lineage": "Show the lineage of models and columns.",
    "fingerprint": "Show the fingerprints of models, and the hashed values.",
    "format": "Format SQL models without changing their meaning.",
    "create-external-models": "Declare sources from the catalog's metadata.",
    "catch-up": "Find late rows and load them exactly once.",
    "late": "Show high-water marks, pending late rows and past sessions.",
    "audit": "Run the audits of a model on its current rows.",
    "audits": "Show the results of audits, with failing rows.",
    "publish": "Publish rows that failed blocking audits.",
    "pause": "Stop evaluating models until they are resumed.",
    "resume": "Evaluate paused models again.",
    "verify": "Check the rows in storage against recorded digests.",
    "repair": "Repair a table that was changed outside vde, without losing rows.",
    "unlock": "List leases, or release one whose process has ended.",
    "invalidate": "Remove an environment with its views.",
    "janitor": "Remove expired environments, and drop unused tables and views.",
    "maintain": "Rewrite small files, and remove old Iceberg snapshots and files.",
    "state": "Check, migrate, export and import the state.",
    "savings": "Show how much computation was saved.",
    "ui": "Serve the project in Dagster's UI.",
    "doctor": "Check a project's setup, and say how to fix problems.",
    "jars": "Download the jars that Spark needs, and print their paths.",
}
"""The summary of each command, in the order in which a new user needs them."""

_MODULES: Final = {
    "plans.plan": ("plan",),
    "plans.taking": ("apply", "promote", "rollback"),
    "plans.ci": ("ci",),
    "plans.compare": ("diff", "table-diff", "compare"),
    "runs.run": ("run",),
    "runs.adopt": ("adopt",),
    "runs.catch_up": ("catch-up",),
    "runs.audits": ("audit", "audits", "publish"),
    "runs.pause": ("pause", "resume"),
    "looks.status": ("status",),
    "looks.environments": ("environments", "history", "savings"),
    "looks.query": ("query",),
    "looks.render": ("render", "evaluate"),
    "looks.intervals": ("intervals",),
    "looks.lineage": ("lineage",),
    "looks.fingerprint": ("fingerprint",),
    "looks.late": ("late",),
    "projects.examples": ("init",),
    "projects.importing": ("import",),
    "projects.unit_tests": ("test", "create-test"),
    "projects.project_files": ("format", "create-external-models"),
    "projects.ui": ("ui", "jars"),
    "upkeep.verify": ("verify", "repair"),
    "upkeep.unlock": ("unlock",),
    "upkeep.clean_up": ("invalidate", "janitor", "maintain"),
    "upkeep.state": ("state",),
    "upkeep.doctor": ("doctor",),
}
"""The commands of each module, in which that of `create-test` is ``create_test_command``."""
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names}


def module_of(name: str) -> str:
    """The module of a command."""
    return f"vde_dagster.cli.{_MODULE_OF[name]}"


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
        if cmd_name not in COMMANDS:
            return None
        module = import_module(module_of(cmd_name))
        command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What may follow `vde`, without importing the commands."""
        found = [
            CompletionItem(name, help=summary)
            for name, summary in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 refused or failed with a message, 2 wrong usage.",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def vde() -> None:
    """Virtual data environments on Dagster, Spark and Iceberg."""
