"""Models, snapshots and seeds of dbt as models in our language."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from sqlglot import exp

from vde_dagster.project.importing.dbt_incremental import (
    Loading,
    Strategy,
    loading,
    with_intervals,
)
from vde_dagster.project.importing.dbt_nodes import Node, Project, data_type, is_date, plain
from vde_dagster.project.importing.draft import Group, ModelDraft, SparkText
from vde_dagster.project.importing.functions import differing
from vde_dagster.project.importing.spark_sql import (
    NotTranslated,
    listed,
    quoted,
    spark_tree,
    word,
)

WITHOUT_ROWS: Final = ("VIEW", "EMBEDDED")
_KINDS: Final = {
    "view": "VIEW",
    "materialized_view": "VIEW",
    "table": "FULL",
    "ephemeral": "EMBEDDED",
}
_CRON: Final = {"hour": "@hourly", "day": "@daily", "month": "@monthly", "year": "@yearly"}
_ON_CHANGE: Final = {
    "append_new_columns": {"on_additive_change": "allow"},
    "sync_all_columns": {"on_destructive_change": "allow", "on_additive_change": "allow"},
    "fail": {"on_destructive_change": "error", "on_additive_change": "error"},
}
_READ: Final = {
    "enabled", "alias", "schema", "database", "materialized", "tags", "meta", "group",
    "persist_docs", "quoting", "column_types", "full_refresh", "unique_key", "on_schema_change",
    "on_configuration_change", "packages", "docs", "contract", "event_time", "lookback", "begin",
    "incremental_strategy", "batch_size", "pre-hook", "post-hook", "concurrent_batches",
    "strategy", "updated_at", "check_cols", "hard_deletes", "invalidate_hard_deletes",
    "snapshot_meta_column_names", "target_schema", "target_database", "delimiter",
    "quote_columns", "partition_by", "cluster_by", "clustered_by", "merge_exclude_columns",
    "merge_update_columns", "incremental_predicates", "access", "dbt_valid_to_current",
}  # fmt: skip
"""What a configuration says that is read here, or that every node has."""
_NO_EFFECT: Final = (("file_format", "iceberg"), ("table_type", "iceberg"))
_SIDES: Final = re.compile(r"\b(DBT_INTERNAL_DEST|DBT_INCREMENTAL_TARGET)\b", re.IGNORECASE)
_BLOCK: Final = re.compile(
    r"\{%-?\s*(?:el)?if\b[^%]*is_incremental\(\).*?\{%-?\s*endif\s*-?%\}", re.DOTALL
)
_JINJA: Final = re.compile(r"\{[{%]")
_COMMENT: Final = re.compile(r"\{#.*?#\}", re.DOTALL)
_THIS: Final = re.compile(r"\{\{\s*this\s*\}\}")
_WHOLE: Final = "Each interval is a day (cron '@daily'), and is loaded after it has ended."


@dataclass(frozen=True, slots=True)
class DbtModel:
    """A model, snapshot or seed, and the project that it is in."""

    project: Project
    node: Node

    @property
    def name(self) -> str:
        """Its name here."""
        return self.project.names[self.node["unique_id"]]

    @property
    def config(self) -> Mapping[str, Any]:
        """What dbt's configuration says of it."""
        found: Mapping[str, Any] = self.node["config"]
        return found

    def note(self, group: Group, message: str, advice: str = "", *, line: int = 0) -> None:
        """Note a remark about it."""
        self.project.note(self.node, group, message, advice, line=line)

    def path(self) -> str:
        """Its file here."""
        old = PurePosixPath(str(self.node["original_file_path"]))
        package, kind = self.node["package_name"], self.node["resource_type"]
        folders = [f"{kind}s"] if kind != "model" else list(old.parent.parts[1:])
        is_own = package == self.project.target.manifest["metadata"]["project_name"]
        own = [] if is_own else [package]
        return posixpath.join("models", *own, *folders, f"{plain(self.node['alias'])}.sql")

    def draft(self) -> ModelDraft | None:
        """The model; None where it is left out, which is said."""
        if self.node.get("language") == "python":
            advice = "Write a function with @model (Python models, reference/models in the docs)."
            self.note(Group.EDIT, "a Python model was left out", advice)
            return None
        if not self.node.get("compiled_code"):
            self.note(Group.EDIT, "the model was left out, because dbt could not compile it")
            return None
        try:
            found = self._loading(self.project.tree(self.node["compiled_code"]))
            query = spark_tree(found.query, self.project.dialect)
        except NotTranslated as error:
            message = "its query could not be translated"
            self.note(Group.EDIT, message, f"Write it for Spark: {error}.")
            text = self.node["compiled_code"].strip()
            query = SparkText(original=text, spark=text)
            found = Loading(kind="FULL", query=exp.select("1"))
        self._note_functions()
        self.note_config()
        has_rows = found.kind not in WITHOUT_ROWS
        return ModelDraft(
            name=self.name,
            path=self.path(),
            kind=found.kind,
            options=found.options,
            properties=self.properties(found.kind),
            query=query,
            before=list(self._hooks("pre-hook", has_rows=has_rows)),
            after=list(self._hooks("post-hook", has_rows=has_rows)),
        )

    def _loading(self, full: exp.Expr) -> Loading:
        kind = str(self.config.get("materialized"))
        if self.node["resource_type"] == "snapshot":
            return self._snapshot(full)
        if kind == "incremental" and self.config.get("incremental_strategy") == "microbatch":
            return self._microbatch(full)
        if kind == "incremental":
            return self._incremental(full)
        if kind not in ("view", "table", "ephemeral"):
            here = _KINDS.get(kind, "FULL")
            message = f"the materialization {kind} was written as {here}"
            self.note(Group.LOOK, message, "reference/kinds in the docs lists the other kinds.")
        return Loading(kind=_KINDS.get(kind, "FULL"), query=full)

    def _incremental(self, full: exp.Expr) -> Loading:
        texts = self.project.target.incremental
        if texts is None:
            other = None if "is_incremental" in _COMMENT.sub("", self.node["raw_code"]) else full
        else:
            text = texts.get(self.node["unique_id"])
            other = self.project.tree(text) if text else None
        found = loading(full, other, self._strategy())
        if not found.is_understood:
            self._note_block(is_known=other is not None)
        elif found.is_ranged:
            self._note_range(found)
        if found.kind == "INCREMENTAL_BY_UNIQUE_KEY":
            message = "two rows with one key in one evaluation are an error"
            self.note(
                Group.LOOK,
                message,
                'dbt accepts them. See "One row of each key" in reference/kinds in the docs.',
            )
        options = {**found.options, **self._merge(found.kind)}
        if self.config.get("full_refresh") is False and found.kind != "FULL":
            options["disable_restatement"] = "true"
        return Loading(kind=found.kind, options=options, query=found.query)

    def _strategy(self) -> Strategy:
        types = self.project.types(self.node)
        return Strategy(
            own=self.name,
            dialect=self.project.dialect,
            name=str(self.config.get("incremental_strategy") or ""),
            keys=self.expressions("unique_key"),
            partitions=self.partitions(),
            types={name.lower(): kind for name, kind in types.items()},
        )

    def _note_block(self, *, is_known: bool) -> None:
        """Say that a person has to decide what stands in the place of `is_incremental()`."""
        blocks = _BLOCK.findall(self.node["raw_code"])
        shown = " ".join(" ".join(blocks).split())
        message = "the model was written as FULL, which computes the whole table each time"
        advice = "Choose another kind (reference/kinds in the docs) that reads @start_ts to @end_ts"
        if is_known:
            self.note(Group.EDIT, f"{message}; `{shown}` was left out", f"{advice}, or keep FULL.")
            return
        script = "run the script of `vde import script dbt` to get both forms, which may decide it"
        self.note(
            Group.EDIT, f"{message}: its incremental form is not known", f"{advice}; {script}."
        )

    def _note_range(self, found: Loading) -> None:
        if found.kind == "INCREMENTAL_BY_TIME_RANGE":
            message = "the filter for rows after the newest one became the interval that is loaded"
            advice = f"{_WHOLE} Late rows are detected as stale (concepts/staleness in the docs)."
        else:
            message = (
                "the filter for rows after the newest one became the interval that is "
                "merged or added"
            )
            advice = f"{_WHOLE} For late rows, see `lookback` in reference/kinds in the docs."
        self.note(Group.CHANGED, message, f"{advice} Rows without a time belong to no interval.")

    def _microbatch(self, full: exp.Expr) -> Loading:
        parents: dict[str, tuple[str, bool]] = {}
        for unique_id in self.node.get("depends_on", {}).get("nodes", ()):
            parent = self.project.node(unique_id)
            if time := parent.get("config", {}).get("event_time"):
                types = {key.lower(): kind for key, kind in self.project.types(parent).items()}
                kind = data_type(types.get(time.lower(), ""), self.project.dialect)
                parents[self.project.names[unique_id]] = (time, is_date(kind))
        if ".render()" in self.node["raw_code"]:
            message = "a parent that .render() reads as a whole may be filtered by interval here"
            self.note(Group.LOOK, message, "Remove the filter.")
        options = {"time_column": self.config["event_time"]}
        if lookback := self.config.get("lookback"):
            options["lookback"] = str(lookback)
        return Loading(
            kind="INCREMENTAL_BY_TIME_RANGE",
            options=options,
            query=with_intervals(full, parents),
        )

    def _merge(self, kind: str) -> dict[str, str]:
        """What a merge updates, and where it looks."""
        if kind != "INCREMENTAL_BY_UNIQUE_KEY":
            return {}
        found: dict[str, str] = {}
        kept = {each.lower() for each in _texts(self.config.get("merge_exclude_columns"))}
        updated = _texts(self.config.get("merge_update_columns"))
        columns = updated or [each for each in self.project.types(self.node) if kept]
        names = [column(each) for each in columns if each.lower() not in kept]
        if names:
            pairs = ", ".join(f"target.{each} = source.{each}" for each in names)
            found["when_matched"] = f"(WHEN MATCHED THEN UPDATE SET {pairs})"
        elif kept:
            message = (
                f"merge_exclude_columns {sorted(kept)} was left out: the columns are not known"
            )
            self.note(Group.EDIT, message, "Write when_matched.")
        if predicates := _texts(self.config.get("incremental_predicates")):
            ours = [re.sub(r"\bDBT_INTERNAL_SOURCE\b", "source", each) for each in predicates]
            ours = [_SIDES.sub("target", each) for each in ours]
            found["incremental_predicates"] = listed(
                [self.project.expression(self.node, each) for each in ours]
            )
        return found

    def _snapshot(self, full: exp.Expr) -> Loading:
        names = self.config.get("snapshot_meta_column_names") or {}
        by_time = self.config.get("strategy") == "timestamp"
        options = {
            "unique_key": listed(self.expressions("unique_key")),
            "valid_from_name": word(names.get("dbt_valid_from") or "dbt_valid_from"),
            "valid_to_name": word(names.get("dbt_valid_to") or "dbt_valid_to"),
        }
        if by_time:
            options |= {"updated_at_name": word(self.config["updated_at"])}
            options |= {"updated_at_as_valid_from": "true"}
        else:
            columns = self.config.get("check_cols")
            listed_columns = map(column, columns) if isinstance(columns, list) else ()
            options["columns"] = f"({', '.join(listed_columns)})" if columns != "all" else "*"
            options |= {"execution_time_as_valid_from": "true"}
        deletes = self.config.get("hard_deletes", "ignore")
        if self.config.get("invalidate_hard_deletes") or deletes == "invalidate":
            options["invalidate_hard_deletes"] = "true"
        elif deletes != "ignore":
            message = (
                f"hard_deletes {deletes}: deleted rows stay open, and no row records the deletion"
            )
            advice = "invalidate_hard_deletes true closes them; change the queries that read {}."
            gone = names.get("dbt_is_deleted") or "dbt_is_deleted"
            self.note(Group.EDIT, message, advice.format(gone))
        missing = [names.get(each) or each for each in ("dbt_scd_id", "dbt_updated_at")]
        self.note(Group.MISSING, f"histories do not have the columns {' and '.join(missing)}")
        if current := self.config.get("dbt_valid_to_current"):
            message = f"an open row ends with NULL, not with {current}"
            self.note(Group.MISSING, message, "Change downstream models that compare it.")
        kind = "SCD_TYPE_2_BY_TIME" if by_time else "SCD_TYPE_2_BY_COLUMN"
        return Loading(kind=kind, options=options, query=full)

    def properties(self, kind: str) -> dict[str, str]:
        """The properties that have a counterpart, as written in a header."""
        found: dict[str, str] = {}
        if description := str(self.node.get("description") or "").strip():
            found["description"] = quoted(description)
        if owner := self._owner():
            found["owner"] = quoted(owner)
        if tags := self.node.get("tags"):
            found["tags"] = f"({', '.join(map(word, tags))})"
        if self.config.get("incremental_strategy") == "microbatch":
            found["start"] = quoted(str(self.config["begin"]).removesuffix("T00:00:00"))
            found["cron"] = quoted(_CRON[self.config["batch_size"]])
        if kind.startswith("INCREMENTAL"):
            found |= _ON_CHANGE.get(str(self.config.get("on_schema_change")), {})
        if kind not in WITHOUT_ROWS:
            if partitions := self.partitions():
                found["partitioned_by"] = f"({', '.join(partitions)})"
            if clusters := (*self.expressions("cluster_by"), *self.expressions("clustered_by")):
                found["clustered_by"] = f"({', '.join(clusters)})"
        return found | self._columns()

    def _columns(self) -> dict[str, str]:
        """Columns with types where dbt promises them, their descriptions, and the key."""
        found: dict[str, str] = {}
        is_promised = self.node.get("contract", {}).get("enforced")
        columns = self.project.columns(self.node)
        if columns and is_promised:
            pairs = [f"{column(name)} {kind}" for name, kind in columns.items()]
            found["columns"] = f"({', '.join(pairs)})"
        known = {name.lower() for name in columns}
        described = {
            name: column["description"]
            for name, column in self.node.get("columns", {}).items()
            if column.get("description") and (not known or name.lower() in known)
        }
        if described:
            pairs = [f"{column(name)} = {quoted(text)}" for name, text in described.items()]
            found["column_descriptions"] = f"({', '.join(pairs)})"
        if key := self.node.get("primary_key"):
            found["grain"] = f"({', '.join(map(column, key))})"
        return found

    def _owner(self) -> str:
        groups = self.project.target.manifest.get("groups", {}).values()
        own = [each["owner"] for each in groups if each["name"] == self.node.get("group")]
        owner: Mapping[str, Any] = own[0] if own else {}
        email = owner.get("email")
        meta = self.config.get("meta") or {}
        return str(
            meta.get("owner") or owner.get("name") or (email if isinstance(email, str) else "")
        )

    def expressions(self, key: str) -> list[str]:
        """A column or expression, or several, for Spark."""
        return [
            self.project.expression(self.node, each).lower()
            if re.fullmatch(r"\w+", each)
            else self.project.expression(self.node, each)
            for each in _texts(self.config.get(key))
        ]

    def partitions(self) -> list[str]:
        """What the table is partitioned by."""
        given = self.config.get("partition_by")
        if not isinstance(given, Mapping):
            return self.expressions("partition_by")
        unit = str(given.get("granularity", "day")).lower()
        field = str(given["field"]).lower()
        dated = str(given.get("data_type", "date")).lower() in ("date", "timestamp", "datetime")
        return [f"{unit}s({field})" if dated else field]

    def _hooks(self, key: str, *, has_rows: bool) -> Iterator[SparkText]:
        """Statements that are plain SQL; all others are named."""
        for hook in self.config.get(key) or ():
            text = _THIS.sub(self.name, str(hook["sql"])).strip().removesuffix(";")
            shown = f"the {key} `{' '.join(text.split())}` was left out"
            statement = self._statement(text) if has_rows and not _JINJA.search(text) else None
            if text.upper().startswith("SELECT") and not _JINJA.search(text):
                self.note(Group.CHANGED, shown, "A SELECT has no effect there.")
            elif statement is None:
                advice = "Write it as a Spark statement before or after the query."
                self.note(
                    Group.MISSING, shown, advice if has_rows else ("A view cannot have statements.")
                )
            else:
                yield statement

    def _statement(self, text: str) -> SparkText | None:
        """A statement that writes or sets something, for Spark."""
        try:
            tree = self.project.tree(text)
            is_known = isinstance(tree, exp.DML | exp.Create | exp.Set | exp.Drop)
            return spark_tree(tree, self.project.dialect) if is_known else None
        except NotTranslated:
            return None

    def _note_functions(self) -> None:
        """Say what sqlglot is known to translate to something else."""
        lines = self.node["raw_code"].splitlines()
        for name, what in differing(self.node["compiled_code"], self.project.dialect):
            start = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
            line = next((at for at, text in enumerate(lines, 1) if start.search(text)), 0)
            self.note(Group.LOOK, f"`{name}` has another meaning in Spark: {what}", line=line)

    def note_config(self) -> None:
        """Say what else a node says."""
        for key, value in self.config.items():
            if key not in _READ and value and (key, value) not in _NO_EFFECT:
                self._left_out(key, value)
        meta = {
            key: value for key, value in (self.config.get("meta") or {}).items() if key != "owner"
        }
        if meta:
            self._left_out("meta", meta)
        for key in ("access", "database"):
            if (value := self.config.get(key)) and value != "protected":
                self._left_out(key, value)
        for key in ("deprecation_date", "latest_version"):
            if self.node.get(key):
                self._left_out(key, self.node[key])
        for name, column in self.node.get("columns", {}).items():
            for key in ("tags", "meta"):
                if column.get(key):
                    self._left_out(f"{key} of the column {name}", column[key])

    def _left_out(self, key: str, value: object) -> None:
        shown = " ".join(str(value)[:100].split())
        self.note(Group.MISSING, f"{key} ({shown}) was left out")


def _texts(value: Any) -> list[str]:  # noqa: ANN401 - JSON
    """A text or a list of texts as a list."""
    if isinstance(value, str):
        return [value]
    return [str(each) for each in value or ()]


def column(text: str) -> str:
    """A column in a header."""
    return str(exp.to_identifier(text.lower() if re.fullmatch(r"\w+", text) else text).sql("spark"))
