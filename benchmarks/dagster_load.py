"""Loading an environment's definitions in Dagster, against equal assets that are written by hand.

The hand-written ones have the keys, dependencies, partitions, columns, tags, metadata and checks of
ours, a sensor with a job for each partitions definition, and bodies that do nothing. They are read
from a file, as if they were constants in the code.
Each run is a new process, runs alternate, medians of CPU seconds are printed. *define* makes the
definitions, *resolve* makes Dagster's graph and jobs of them, as a code server does.
"""

from __future__ import annotations

import importlib
import json
import pickle
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg

from benchmarks.measuring import (
    Settings,
    Step,
    alternating,
    cpu_seconds,
    measured,
    peak_megabytes,
    print_table,
)
from benchmarks.planning import prepare

_IMPORTED = (
    "pyiceberg.catalog.sql",
    "pyiceberg.io.pyarrow",
    "vde_dagster.lakehouse.catalogs.iceberg_catalog",
    "vde_dagster.orchestration.definitions",
    "vde_dagster.project.loading",
)
EQUAL = "equal_assets.pickle"


def ours(folder: Path) -> dg.Definitions:
    """The definitions of production."""
    from vde_dagster import build_definitions

    return build_definitions(folder)


def by_hand(folder: Path) -> dg.Definitions:
    """Equal assets, without anything of ours."""
    written = pickle.loads((folder / EQUAL).read_bytes())
    assets: list[Any] = [dg.AssetSpec(**each) for each in written["sources"]]
    for each in written["assets"]:

        def body(context):  # type: ignore[no-untyped-def]  # Dagster evaluates annotations
            """Nothing."""

        deps = [dg.AssetDep(key, partition_mapping=how) for key, how in each["deps"]]
        decorated: Callable[..., dg.AssetsDefinition] = dg.asset(**{**each["asset"], "deps": deps})
        assets.append(decorated(body))
    specs = [dg.AssetCheckSpec(**each) for each in written["checks"]]

    @dg.multi_asset_check(specs=specs, can_subset=True)
    def checks(context):  # type: ignore[no-untyped-def]  # Dagster evaluates annotations
        for key in context.selected_asset_check_keys:
            yield dg.AssetCheckResult(
                passed=True, asset_key=key.asset_key, check_name=key.name, description="Nothing."
            )

    jobs = _jobs(written["assets"])

    @dg.sensor(jobs=jobs)
    def sensor():  # type: ignore[no-untyped-def]  # Dagster evaluates annotations
        """Nothing."""

    return dg.Definitions(
        assets=assets,
        asset_checks=[checks],
        jobs=jobs,
        sensors=[sensor],
        executor=dg.in_process_executor,
    )


def _jobs(written: Sequence[Mapping[str, Any]]) -> list[Any]:
    """A job of each partitions definition: a run has one."""
    keys: dict[object, list[dg.AssetKey]] = {}
    for each in written:
        asset = each["asset"]
        keys.setdefault(asset["partitions_def"], []).append(asset["key"])
    return [
        dg.define_asset_job(f"job_{number}", selection=dg.AssetSelection.assets(*each))
        for number, each in enumerate(keys.values())
    ]


def extract(folder: Path) -> None:
    """Write what is needed to write our assets by hand."""
    graph = ours(folder).resolve_asset_graph()
    sources, assets, checks = [], [], []
    for key in sorted(graph.get_all_asset_keys()):
        node = graph.get(key)
        spec = node.to_asset_spec()
        facts = {
            "key": key,
            "metadata": _plain(spec.metadata),
            "group_name": spec.group_name,
            "description": spec.description,
            "owners": list(spec.owners),
            "code_version": spec.code_version,
            "tags": {k: v for k, v in spec.tags.items() if not k.startswith("dagster/kind/")},
            "kinds": spec.kinds,
        }
        if not node.is_executable:
            sources.append({k: v for k, v in facts.items() if k != "code_version"})
            continue
        deps = [(each.asset_key, each.partition_mapping) for each in spec.deps]
        asset = facts | {"partitions_def": node.partitions_def}
        assets.append({"asset": asset, "deps": deps})
    for check in sorted(graph.asset_check_keys):
        found = graph.get_check_spec(check)
        checks.append(
            {"name": found.name, "asset": found.asset_key, "description": found.description}
        )
    text = pickle.dumps({"sources": sources, "assets": assets, "checks": checks})
    (folder / EQUAL).write_bytes(text)


def _plain(metadata: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in metadata.items() if not key.startswith("dagster/io_")}


def measure(folder: Path, make: Callable[[Path], dg.Definitions]) -> Step:
    """The CPU seconds of this process, step by step."""
    for module in _IMPORTED:
        importlib.import_module(module)
    warnings.simplefilter("ignore")
    started = cpu_seconds()
    definitions = make(folder)
    defined = cpu_seconds()
    repository = definitions.get_repository_def()
    repository.load_all_definitions()
    repository.asset_graph.get_all_asset_keys()
    return {
        "define": defined - started,
        "resolve": cpu_seconds() - defined,
        "MB": peak_megabytes(),
    }


MAKERS: dict[str, Callable[[Path], dg.Definitions]] = {"ours": ours, "by hand": by_hand}


def main(settings: Settings) -> None:
    """Print a line for each project and way of writing it, with how much longer ours takes."""
    folders = {shape: prepare(settings.folder, shape) for shape in settings.shapes}
    for folder in folders.values():
        measured([sys.executable, "-m", "benchmarks.dagster_load", str(folder), "extract"])
    found = alternating(
        settings.rounds,
        {
            (str(shape), which): partial(
                measured,
                [sys.executable, "-m", "benchmarks.dagster_load", str(folder), which],
            )
            for shape, folder in folders.items()
            for which in MAKERS
        },
    )
    rows: list[list[str | float]] = []
    for shape in settings.shapes:
        totals = {}
        for which in MAKERS:
            step = found[str(shape), which]
            totals[which] = step["define"] + step["resolve"]
            ratio = totals[which] / totals["by hand"] if which == "by hand" else 0.0
            rows.append([str(shape), which, *step.values(), totals[which], ratio])
        rows[-2][-1] = totals["ours"] / totals["by hand"]
    print("CPU seconds, medians, without the interpreter and imports")
    print_table(["models", "", "define", "resolve", "MB", "together", "ratio"], rows)


if __name__ == "__main__":
    where = Path(sys.argv[1])
    if sys.argv[2] == "extract":
        extract(where)
        print(json.dumps({}))
    else:
        print(json.dumps(measure(where, MAKERS[sys.argv[2]])))
