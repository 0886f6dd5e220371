"""Both forms of every model of a dbt project, full and incremental: run this where dbt is.

    python forms.py OUT [--ask] [dbt's --project-dir, --profiles-dir, --target, --vars, ...]

It writes `OUT/full/manifest.json`, in which `is_incremental()` is false, and
`OUT/incremental/manifest.json`, in which it is true of each incremental model, without what an
import does not need, and with the texts of seeds. Nothing is written to the project, and no
connection is opened: what a model asks the warehouse while it is compiled (`run_query`) gets the
question itself as its answer. With `--ask` the warehouse is asked instead, read-only as `dbt
compile` is. Models that cannot be compiled are named, and have no `compiled_code`.

This file needs dbt and nothing of vde_dagster. It was run with dbt 1.11 and 1.12.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import agate
from dbt.adapters.base.impl import BaseAdapter
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.cli.main import dbtRunner
from dbt.task.compile import CompileTask

_FORMS = {
    "full": "{{ return(false) }}",
    "incremental": "{{ return(execute and model.config.materialized == 'incremental') }}",
}
_QUIET = ("--quiet", "--no-send-anonymous-usage-stats")
_OFFLINE = ("--no-populate-cache", "--no-introspect")
_NOT_NEEDED = (
    "build_path", "checksum", "compiled", "compiled_path", "created_at", "doc_blocks",
    "extra_ctes", "extra_ctes_injected", "fqn", "patch_path", "path", "root_path",
    "unrendered_config", "unrendered_config_call_dict", "config_call_dict", "unrendered_database",
    "unrendered_schema", "config_keys_used", "config_keys_defaults", "meta_keys_used",
    "time_spine", "static_analysis", "supported_languages", "docs", "refs", "file_key_name",
    "warn_unenforced", "warn_unsupported", "store_failures_as", "alias_types", "show",
    "versions", "on_configuration_change",
)  # fmt: skip
_SECTIONS = (
    "nodes", "sources", "exposures", "metrics", "groups", "disabled", "saved_queries",
    "semantic_models", "unit_tests", "functions",
)  # fmt: skip


def run(command: str, options: list[str], folder: Path, manifest: Any = None) -> Any:
    """The result of a command of dbt, whose files go below a folder."""
    paths = ["--target-path", str(folder / command), "--log-path", str(folder / "log")]
    found = dbtRunner(manifest=manifest).invoke([command, *options, *paths, *_QUIET])
    if found.exception:
        raise SystemExit(f"dbt {command}: {found.exception}")
    return found.result


def answer_questions() -> None:
    """Let the adapter answer each query with its text, in the marks « and »."""

    def execute(self: Any, sql: str, *rest: Any, **named: Any) -> Any:
        cell = "«" + " ".join(sql.split()) + "»"
        return AdapterResponse(_message="OK"), agate.Table([[cell]], ["answer"], [agate.Text()])

    BaseAdapter.execute = execute


def compiled(form: str, options: list[str], folder: Path, *, ask: bool) -> dict[str, Any]:
    """The manifest in one of the two forms."""
    manifest = run("parse", options, folder)
    for macro in manifest.macros.values():
        if macro.name == "is_incremental":
            macro.macro_sql = f"{{% macro is_incremental() %}}{_FORMS[form]}{{% endmacro %}}"
    results = run("compile", options if ask else [*options, *_OFFLINE], folder, manifest).results
    for each in results:
        if str(each.status) != "success":
            message = " ".join((each.message or "").split())[:300]
            print(f"{form}: {each.node.unique_id}: {message}", file=sys.stderr)
    found: dict[str, Any] = json.loads((folder / "compile" / "manifest.json").read_text("utf-8"))
    return found


def slim(document: dict[str, Any]) -> dict[str, Any]:
    """What an import needs of a manifest, with the texts of seeds."""
    seeds = [each for each in document["nodes"].values() if each["resource_type"] == "seed"]
    about = document["metadata"]
    return {
        "metadata": {
            key: about.get(key) for key in ("adapter_type", "dbt_version", "project_name")
        },
        **{key: without_empty(document.get(key) or {}) for key in _SECTIONS},
        "macros": {
            name: {key: macro[key] for key in ("name", "package_name", "original_file_path")}
            for name, macro in document["macros"].items()
            if macro["package_name"] == about["project_name"]
        },
        "files": {
            each["unique_id"]: (Path(each["root_path"]) / each["original_file_path"]).read_text(
                "utf-8"
            )
            for each in seeds
        },
    }


def without_empty(value: Any) -> Any:
    """A value of JSON without keys that an import does not need, or that have no value."""
    if isinstance(value, list):
        return [without_empty(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {
        key: each if key == "rows" else without_empty(each)
        for key, each in value.items()
        if key not in _NOT_NEEDED and not (key == "raw_code" and "test_metadata" in value)
    }
    return {key: each for key, each in found.items() if each not in (None, {}, [], "")}


def texts_of(document: dict[str, Any]) -> dict[str, Any]:
    """The compiled texts of the models of a manifest, and nothing else."""
    nodes = {
        name: {"compiled_code": node["compiled_code"]}
        for name, node in document["nodes"].items()
        if node.get("resource_type") == "model" and node.get("compiled_code")
    }
    return {"metadata": document["metadata"], "nodes": nodes}


def main(out: Path, options: list[str]) -> None:
    """Write both manifests below a folder."""
    ask = "--ask" in options
    options = [each for each in options if each != "--ask"]
    # One model that fails neither ends the compilation nor takes its children out of it.
    CompileTask.raise_on_first_error = lambda self: False
    CompileTask._mark_dependent_errors = lambda self, *rest: None
    if not ask:
        answer_questions()
    for form in _FORMS:
        document = slim(compiled(form, options, out / "dbt", ask=ask))
        written = document if form == "full" else texts_of(document)
        (out / form).mkdir(parents=True, exist_ok=True)
        text = json.dumps(written, indent=1, sort_keys=True, ensure_ascii=False)
        (out / form / "manifest.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    # dbt imports whatever is called dbt_... on Python's path, beside this file among others.
    beside = ("", str(Path(sys.argv[0]).resolve().parent))
    sys.path[:] = [each for each in sys.path if each not in beside]
    main(Path(sys.argv[1]), sys.argv[2:])
