"""`vde verify` and `vde repair`: tables against what was recorded of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.printing import Note, Printed, print_all
from vde_dagster.cli.spelling import whole
from vde_dagster.core.listing import plural

if TYPE_CHECKING:
    from vde_dagster.app.binding import Binding
    from vde_dagster.app.inspect.verify import Verified
    from vde_dagster.app.recover.recovery import Repaired
    from vde_dagster.core.ledger.damage import Damage
    from vde_dagster.core.names import ModelName


@options.command("verify")
@click.argument("models", nargs=-1, metavar="[MODEL ...]")
@options.ENVIRONMENT
def verify_command(call: Call, *, models: tuple[str, ...], environment: str) -> None:
    """Recompute the D-SHAs of an environment's tables from storage, and compare them.

    A D-SHA is a digest of rows that was recorded when they were published. Without MODEL all models
    that store rows are compared. Each table is read at the Iceberg snapshot that was recorded last,
    so runs may publish meanwhile. Spark is started, and reads every row.

    Differences are listed by interval, and tables that lack files or that another program has
    written to since. D-SHAs detect changes, but they do not protect against deliberate tampering.

    Exit codes: 0 if everything is as recorded, 1 otherwise.

    For example:

        vde verify mart.revenue
    """
    from vde_dagster.app.binding import shown_binding
    from vde_dagster.app.inspect.verify import verify

    binding = shown_binding(call.services, environment)
    names = [call.model(binding.graph, call.name(each), environment).name for each in models]
    found: list[Verified] = []
    for each in verify(call.services, binding, names or None):
        found.append(each)
        if not call.is_json:
            print_all(_verified(each, whole(_advice(binding, each), call.folder), call.folder))
    holds = all(each.holds for each in found)
    verified = [{**fields_of(each), "holds": each.holds} for each in found]
    plan = call.vde("plan", environment)
    none = [] if found else [Note(f"No model that stores rows has any yet. `{plan}` loads them.")]
    call.answer({"environment": environment, "holds": holds, "models": verified}, none)
    if not holds:
        call.end()


def _advice(binding: Binding, found: Verified) -> str:
    """What to do about rows that are not as recorded."""
    name, environment = found.key.model, binding.environment
    if found.missing_table:
        return f"`vde run {environment}` recomputes its rows, or reports why it cannot."
    if binding.node(name).model.kind.disable_restatement:
        return "Restore the table's files: the model sets disable_restatement."
    again = f"vde run {environment} --restate-model {name}"
    return f"Restore the table's files, or recompute the rows in the owning environment: `{again}`"


def _verified(found: Verified, advice: str, folder: Path) -> Iterator[Printed]:
    table = f"{found.key.model} ({found.key.version[:8]})"
    if found.missing_table:
        yield Text(f"{table}: its table is missing", style="red")
        yield f"  {advice}"
    elif found.mismatches or (found.foreign_write and not found.rows):
        yield Text(f"{table}: not as recorded", style="red")
        yield from (f"  {each}" for each in found.mismatches)
        if not found.foreign_write:
            yield f"  {advice}"
    else:
        yield f"{table}: {found.rows} rows as recorded"
    if found.foreign_write:
        yield Text(f"  {whole(found.foreign_write, folder)}", style="red")


@options.command("repair")
@options.MODEL
@options.ENVIRONMENT
@click.option("--dry-run", is_flag=True, help="Only report what is wrong and what repairs it.")
def repair_command(call: Call, *, model: ModelName, environment: str, dry_run: bool) -> None:
    """Find what is wrong with the table and view of MODEL, and repair it without losing rows.

    Work that an earlier process started is finished or reverted. A table that another program wrote
    to or rolled back is put back to the Iceberg snapshot that was recorded last; the rows of the
    other program stay in the table under the tag `before_repair_<Iceberg snapshot>`. Renamed and
    dropped columns are restored from the recorded schema. No Spark is started.

    Missing rows are reported with the command that recomputes them: dropped tables and views, and
    deleted data files. It checks that each data file exists, and reads none. Run it for the
    environment that owns the version.

    Exit codes: 0 if nothing is wrong any more, 1 otherwise; with --dry-run, 0 if nothing is wrong.

    For example:

        vde repair mart.revenue --dry-run
    """
    from vde_dagster.app.binding import shown_binding
    from vde_dagster.app.recover.recovery import repair

    binding = shown_binding(call.services, environment)
    name = call.model(binding.graph, model, environment).name
    found = repair(call.services, binding, name, dry_run=dry_run)
    is_sound = found.is_sound and not (dry_run and found.repaired is not None)
    text = whole("\n".join(_repaired(found, dry_run=dry_run)), call.folder)
    facts = {"environment": environment, "dry_run": dry_run, "sound": is_sound}
    call.answer(facts | _facts(found), [text])
    if not is_sound:
        call.end()


def _repaired(found: Repaired, *, dry_run: bool) -> Iterator[str]:
    from vde_dagster.core.ledger.damage import described

    name = found.key.model
    if found.finished:
        units = plural(found.finished, "unit")
        yield f"{name}: finished {units} of work that an earlier process started."
    if found.repaired is not None:
        yield f"{described(found.key, found.repaired)}."
        back = "would be" if dry_run else "is"
        yield f"It {back} at the Iceberg snapshot {found.repaired.recorded} again; no row is lost."
    if found.left is not None:
        yield f"{described(found.key, found.left)}."
    elif found.dropped is not None:
        yield f"{name}: its view {found.dropped} is missing."
    if found.advice:
        yield found.advice
    if found.is_sound and found.repaired is None:
        yield f"{name} is as recorded: nothing to repair."


def _facts(found: Repaired) -> dict[str, object]:
    from vde_dagster.core.ledger.damage import described

    def text(damage: Damage | None) -> str | None:
        return described(found.key, damage) if damage is not None else None

    return {
        "model": found.key.model,
        "table": found.key.table,
        "finished": found.finished,
        "repaired": text(found.repaired),
        "restored_to": found.repaired.recorded if found.repaired is not None else None,
        "left": text(found.left),
        "dropped_view": found.dropped,
        "advice": found.advice or None,
    }
