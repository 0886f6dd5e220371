"""The flights example as its user has it, on Spark by `vde`."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import landing

from tests.cli.calling import call
from vde_dagster.app.services import Services
from vde_dagster.cli.printing import as_json
from vde_dagster.composition import VdeProject
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import PHYSICAL_PREFIX, ModelName, TableName, environment_view

EXAMPLE: Final = Path(landing.__file__).parent
_AT_ONCE: Final = """
clean_up: {history: 0 seconds, grace: 0 seconds, environments: never}
maintain: {snapshots: 0 seconds, small_files: 2}
"""


@dataclass(frozen=True)
class OnSpark:
    """The project's folder, its commands on the shared session, and what readers of views see."""

    folder: Path

    @property
    def services(self) -> Services:
        """The ports as a command gets them."""
        return VdeProject.load(self.folder).services

    def plan(self, environment: str, **options: Any) -> dict[str, int]:
        """Plan the files for an environment and apply that: the intervals computed of each model.

        What a kind without intervals computes counts as one. Views have no rows of their own and
        are left out. ``options`` are fields of `PlanOptions`.
        """
        words = [f"--{name.replace('_', '-')}" for name, is_on in options.items() if is_on]
        return self._done("plan", environment, *words, "--auto-apply", "--skip-tests")

    def promote(self, source: str, target: str = "prod") -> dict[str, int]:
        """Let an environment show what another one shows; see `plan`."""
        return self._done("promote", source, target, "--auto-apply")

    def rollback(self, environment: str) -> dict[str, int]:
        """Go back to what an environment showed before; see `plan`."""
        return self._done("rollback", environment, "--auto-apply")

    def run(self, environment: str) -> dict[str, int]:
        """A scheduled run; see `plan`."""
        return self._done("run", environment)

    def clean_up(self) -> None:
        """The janitor comes twice, when the times of all that it keeps are over."""
        with (self.folder / "vde.yaml").open("a", encoding="utf-8") as settings:
            settings.write(_AT_ONCE)
        for _ in range(2):
            self._said("janitor")

    def maintain(self) -> None:
        """Tables are maintained, and nothing is kept for readers alone."""
        found = self._said("maintain")
        assert (found["left"], found["busy"]) == ([], [])

    def physical(self) -> dict[TableName, dict[str, int]]:
        """All physical tables and views of which there is anything, each with its files' sizes."""
        warehouse = VdeProject.load(self.folder).configuration.warehouse
        found: dict[TableName, dict[str, int]] = {}
        for path in warehouse.glob(f"{PHYSICAL_PREFIX}*/*/**/*"):
            if path.is_file():
                namespace, name, *_ = path.relative_to(warehouse).parts
                files = found.setdefault(TableName(namespace, name), {})
                files[str(path)] = path.stat().st_size
        return found

    def _said(self, *words: str) -> dict[str, Any]:
        done = call(*words, "--project", self.folder, "--format", "json")
        assert done.exit_code == 0, f"{done.stdout}{done.stderr}"
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found

    def _done(self, *words: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for each in self._said(*words)["built"]:
            count = 1 if each["intervals"] is None else each["intervals"]
            if each["kind"] != "VIEW" and count > each["kept"]:
                found[each["model"]] = count - each["kept"]
        return found

    def land(self, until: datetime) -> None:
        """All that is known before ``until``, a whole hour, arrives hour by hour."""
        landing.land(VdeProject.load(self.folder).iceberg_catalog(), until=until)

    def edit(self, model: str, old: str, new: str) -> None:
        """Replace a part of a model's file that is there once."""
        path = self.folder / "models" / f"{model.replace('.', '/')}.sql"
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{model}: {old}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def versions(self, environment: str) -> dict[str, str]:
        """The version of each model that an environment shows."""
        return {str(name): each.version for name, each in self._snapshots(environment).items()}

    def shown(self, environment: str) -> dict[str, list[list[Any]]]:
        """The rows that readers of each of its views find, in no order that means anything."""
        return {str(each): self.rows(environment, each) for each in self._snapshots(environment)}

    def rows(self, environment: str, name: ModelName) -> list[list[Any]]:
        """The rows of one view."""
        services = self.services
        view = environment_view(name, environment, services.naming)
        _, rows = services.engine.fetch(f"SELECT * FROM {view}", limit=1_000_000)
        return unordered(rows)

    def tables(self, environment: str) -> set[TableName]:
        """The physical tables and views of an environment's versions."""
        return {each.key.table for each in self._snapshots(environment).values()}

    def heads(self, environment: str) -> dict[str, tuple[str, int | None]]:
        """The version and the Iceberg snapshot of each table that an environment shows."""
        found: dict[str, tuple[str, int | None]] = {}
        services = self.services  # opened once: a database has only so many connections
        for name, snapshot in self._snapshots(environment).items():
            table = services.catalog.table(snapshot.key.table)
            head = table.iceberg_snapshot_id if table is not None else None
            found[str(name)] = (snapshot.version, head)
        return found

    def _snapshots(self, environment: str) -> dict[ModelName, ModelSnapshot]:
        """What it shows of each model; sources are no models of its views."""
        shown = self.services.state.environment(environment)
        assert shown is not None, environment
        return {name: each for name, each in shown.snapshots.items() if not each.is_source}


def on_spark(folder: Path, **properties: str) -> OnSpark:
    """The example as it is, in a catalog that no other test has; nothing has landed.

    ``properties`` are pyiceberg's: of a SQL catalog, whose warehouse lies in the project's folder
    unless they say where, or of another ``type``. Without any the catalog is embedded.
    """
    _copy(folder)
    of_sql = {"type": "sql", "warehouse": f"file://{folder}/.vde/warehouse"}
    given = {**({} if "type" in properties else of_sql), **properties}
    with (folder / "vde.yaml").open("a", encoding="utf-8") as settings:
        settings.write(f"\ncatalog:\n  name: flights_{uuid.uuid4().hex[:8]}\n")
        if properties:
            settings.write(f"  properties: {json.dumps(given)}\n")
    return OnSpark(folder=folder)


def _copy(folder: Path) -> None:
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".vde", "__pycache__"))


def unordered(rows: Iterable[Iterable[object]]) -> list[list[Any]]:
    """Rows as JSON has them, in one order whatever their order is."""
    return sorted(([_plain(value) for value in row] for row in rows), key=json.dumps)


def _plain(value: object) -> object:
    """DuckDB counts in whole decimals where Spark does in integers."""
    if isinstance(value, Decimal) and value.as_tuple().exponent == 0:
        return int(value)
    return as_json(value)
