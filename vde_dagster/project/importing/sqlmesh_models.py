"""What the header of a SQLMesh model says, in our words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Final

from vde_dagster.core.audits.builtins import BUILTINS, base_name
from vde_dagster.project.importing.draft import Group, Notes, SparkText
from vde_dagster.project.importing.functions import differing
from vde_dagster.project.importing.spark_sql import (
    NotTranslated,
    has_plain_names,
    listed,
    made_table,
    plain_name,
    quoted,
    spark_expression,
    spark_merge,
    spark_text,
    spark_type,
    with_macros,
    word,
)
from vde_dagster.project.properties.kind_options import options_of
from vde_dagster.project.properties.known_properties import PROPERTIES

_KINDS: Final = {"SCD_TYPE_2": "SCD_TYPE_2_BY_TIME", "CUSTOM": "FULL"}
_DEFAULTS: Final = {"INCREMENTAL_UNMANAGED": {"disable_restatement": "true"}}
"""What SQLMesh does by itself and we do not."""
_ELSEWHERE: Final = ("name", "dialect", "materialization", "materialization_properties")
"""Options that another part of a model says."""
_TEXTS: Final = ("cron", "description", "cron_tz")
_EXPRESSIONS: Final = ("partitioned_by", "clustered_by")
_SPARKS: Final = ("spark", "spark2", "databricks")
_MACRO: Final = re.compile(r"@\{?(\w+)")
_TIME: Final = re.compile(r"(start|end|execution)_\w+", re.IGNORECASE)
_RELATIVE: Final = re.compile(r"\s*(\d+)\s+(day|week|month|year)s?\s+ago\s*", re.IGNORECASE)
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}
_QUOTES: Final = re.compile("[\"'`]")
_WORD: Final = re.compile(r"\w+")
_AS: Final = re.compile(r"\s+AS\s+", re.IGNORECASE)
_BY_HAND: Final = (
    "Write a time macro there: @start_date, @end_date or another one from reference/models "
    "in the docs."
)


def kind_of(each: Mapping[str, Any]) -> str:
    """The name of a model's kind here."""
    return _KINDS.get(str(each["kind"]), str(each["kind"]))


@dataclass(frozen=True, slots=True)
class Others:
    """What a model has to know of the others of its project: their names by what they are.

    Args:
        timed: Models by time range.
        sources: Tables that others write.
        for_python: What models in Python read.
        audits: Audits of the project, with the tables that each reads.
        reads: What each model reads, by its query and its audits.
        refused: What its audits must not read, since it reads the model.
        defaults: Properties that vde.yaml has for all.
        keeps_catalogs: Whether names of two catalogs are the same without them.
    """

    timed: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    for_python: frozenset[str] = frozenset()
    audits: Mapping[str, Sequence[str]] = field(default_factory=dict)
    reads: Mapping[str, frozenset[str]] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, frozenset[str]] = field(default_factory=dict)
    keeps_catalogs: bool = True


@dataclass(frozen=True, slots=True)
class SqlmeshModel:
    """One model as `sqlmesh_dump` wrote it.

    Args:
        each: What was written.
        catalog: The default catalog, which names here leave out.
        today: What relative dates are counted from.
        notes: What takes remarks.
        others: The rest of the project.
    """

    each: Mapping[str, Any]
    catalog: str
    today: date
    notes: Notes
    others: Others = Others()

    @property
    def path(self) -> str:
        """Its file in the old project."""
        return str(self.each["path"])

    def name(self, written: str | None = None) -> str:
        """Its name, or that of another model."""
        parts = _QUOTES.sub("", written or str(self.each["name"])).split(".")
        is_left_out = not self.others.keeps_catalogs or parts[0] == self.catalog
        own = parts[1:] if len(parts) == 3 and is_left_out else parts
        return ".".join(map(plain_name, own))

    def note(self, group: Group, message: str, advice: str = "") -> None:
        """Note a remark about it."""
        self.notes.add(group, self.path, message, advice, model=self.name())

    def kind(self) -> str:
        """The name of its kind here, with a remark where it is another one."""
        if self.each["kind"] == "CUSTOM":
            what = self.each["options"].get("materialization")
            advice = (
                "Choose another kind (reference/kinds in the docs) if its class works differently."
            )
            self.note(Group.LOOK, f"the CUSTOM kind {what!r} was written as FULL", advice)
        if self.each["kind"] == "VIEW" and self.name() in self.others.for_python:
            message = "the VIEW was written as FULL, because a Python model reads it"
            self.note(Group.CHANGED, message, "Python models read tables as of their plan.")
            return "FULL"
        return kind_of(self.each)

    def options(self) -> dict[str, str]:
        """The options of the kind that have a counterpart, as written in a header."""
        found = dict(_DEFAULTS.get(kind_of(self.each), {}))
        known = options_of(kind_of(self.each))
        for key, value in self.each["options"].items():
            if key == "time_column":
                column, form = value
                found[key] = column if form == "%Y-%m-%d" else f"({column}, {quoted(form)})"
            elif key in _ELSEWHERE:
                continue
            elif key not in known or (key == "batch_concurrency" and value > 1):
                self._dropped(f"the option {key}", value)
            else:
                found[key] = self._option(key, value)
        return found

    def _option(self, key: str, value: Any) -> str:  # noqa: ANN401 - JSON
        if isinstance(value, bool | int):
            return str(value).lower()
        if isinstance(value, list):
            return listed([self.expression(one) for one in value])
        return self.expression(str(value), spark_merge if key == "when_matched" else None)

    def properties(self) -> dict[str, str]:
        """The properties that have a counterpart, as written in a header."""
        found: dict[str, str] = {}
        for key, value in self.each["properties"].items():
            if self.others.defaults.get(key) == value:
                continue
            if key not in PROPERTIES or key == "allow_partials":
                self._dropped(f"the property {key}", value)
            elif key not in ("grains", "references"):
                found[key] = self._property(key, value)
        found |= self._keys()
        if self.each["reads_itself"] and kind_of(self.each) == "INCREMENTAL_BY_TIME_RANGE":
            found["late_data"] = self._stateful()
        if self.each["declared"] or self.each["class"] == "SeedModel" or "late_data" in found:
            pairs = [f"{word(name)} {kind}" for name, kind in self.columns().items()]
            found["columns"] = f"({', '.join(pairs)})"
        read = {*map(self.name, self.each["depends_on"]), *self._read_by_audits()}
        if read and self.each["class"] == "SqlModel":
            found["depends_on"] = f"({', '.join(sorted(read))})"
        return found

    def _read_by_audits(self) -> set[str]:
        """What its audits read beside it and what its query reads."""
        by_query = set(map(self.name, self.each["reads"]))
        return set(self.others.reads.get(self.name(), ())) - by_query

    def audit_reads(self, audit: str, shared: Mapping[str, Sequence[str]]) -> set[str]:
        """What one of its audits reads beside it."""
        own = {one["name"]: one["reads"] for one in self.each["own_audits"]}
        found = own.get(base_name(audit), shared.get(base_name(audit), ()))
        return set(map(self.name, found)) - {self.name()}

    def _stateful(self) -> str:
        """What lets a model read the interval before its own."""
        read = {self.name(each) for each in self.each["reads"]} - {self.name()}
        message = (
            "the model reads itself: each interval sees only the previous interval of its table"
        )
        self.note(
            Group.LOOK,
            message,
            'See "Models that read themselves" in concepts/late-data in the docs.',
        )
        return f"(mode stateful, sources ({', '.join(sorted(read & self.others.timed))}))"

    def _property(self, key: str, value: Any) -> str:  # noqa: ANN401 - JSON
        if key in ("start", "end"):
            return quoted(self._day(key, value))
        if key in _TEXTS:
            return quoted(str(value))
        if key == "tags":
            return f"({', '.join(word(one) for one in value)})"
        if key in _EXPRESSIONS:
            return f"({', '.join(self.expression(one) for one in value)})"
        if key == "column_descriptions":
            pairs = [f"{word(name)} = {quoted(text)}" for name, text in value.items()]
            return f"({', '.join(pairs)})"
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return text if text.startswith("(") else word(text)

    def _keys(self) -> dict[str, str]:
        """Grains and references: a grain under another name is a reference, too."""
        properties = self.each["properties"]
        found: list[str] = []
        references = [self.expression(one) for one in properties.get("references", ())]
        known = {name.lower() for name in self.each["columns"]}
        for grain in properties.get("grains", ()):
            key, *alias = _AS.split(self.expression(grain).strip("`"))
            missing = {name.lower() for name in _WORD.findall(key)} - known
            if missing:
                message = (
                    f"the grain {grain} was left out, because of missing columns: "
                    f"{', '.join(missing)}"
                )
                self.note(Group.CHANGED, message)
                continue
            found.append(key)
            references += [f"{key} AS {each}" for each in alias]
        lists = {"grains": found, "references": references}
        return {key: f"({', '.join(items)})" for key, items in lists.items() if items}

    def columns(self) -> dict[str, str]:
        """The columns with Spark's types."""
        found: dict[str, str] = {}
        for name, kind in self.each["columns"].items():
            try:
                found[name] = spark_type(kind, self.each["dialect"])
            except NotTranslated:
                found[name] = "string"
                message = f"the column {name} of type {kind} was written as string"
                self.note(Group.EDIT, message, "Write a Spark type.")
        return found

    def audits(self) -> list[tuple[str, dict[str, str]]]:
        """The audits that there are here, with their arguments."""
        own = {one["name"] for one in self.each["own_audits"]}
        refused = self.others.refused.get(self.name(), frozenset())
        found: list[tuple[str, dict[str, str]]] = []
        for name, given in self.calls("audits"):
            called = f"{name} ({', '.join(f'{key} := {each}' for key, each in given.items())})"
            below = self.audit_reads(name, self.others.audits) & refused
            if base_name(name) not in {*own, *self.others.audits, *BUILTINS}:
                message = f"the audit {called} was left out"
                self.note(
                    Group.MISSING,
                    message,
                    "reference/audits in the docs lists the built-in audits.",
                )
            elif below:
                message = (
                    f"the audit {called} was left out, because it reads the "
                    f"downstream {', '.join(sorted(below))}"
                )
                self.note(Group.MISSING, message, "Add it to the last of these models.")
            else:
                found.append((name, given))
        return found

    def calls(self, what: str) -> list[tuple[str, dict[str, str]]]:
        """Audits or signals with their arguments."""
        return [
            (
                str(name).lower(),
                {key: self.expression(str(value)) for key, value in arguments.items()},
            )
            for name, arguments in self.each[what]
        ]

    def texts(self, what: str) -> list[SparkText]:
        """The query or statements for Spark, as written where sqlglot cannot translate them."""
        given = self.each[what]
        statements = ([given] if given else []) if isinstance(given, str) else given
        return [found for text in statements for found in self._text(text, what)]

    def _text(self, text: str, what: str) -> Iterator[SparkText]:
        if what != "query" and self._is_left_out(text):
            return
        written = self._written()
        is_spark = self.each["dialect"] in _SPARKS and bool(written) and not self._filled()
        if what == "query" and is_spark and has_plain_names(text, self.each["dialect"]):
            yield SparkText(original=written, spark=written)
            return
        try:
            keeps = self.others.keeps_catalogs
            found = spark_text(text, self.each["dialect"], keeps_catalogs=keeps)
            self._note_functions(text)
            yield found
        except NotTranslated as error:
            message = f"a {what.removesuffix('s').replace('_', '-')} could not be translated"
            self.note(Group.EDIT, message, f"Write it for Spark: {error}.")
            yield SparkText(original=with_macros(text), spark=with_macros(text))

    def _note_functions(self, text: str) -> None:
        """Say which functions mean something else in Spark."""
        for name, what in differing(text, self.each["dialect"]):
            self.note(Group.LOOK, f"`{name}` may have another meaning in Spark: {what}")

    def _is_left_out(self, statement: str) -> bool:
        """Whether a statement has no place here, which is said."""
        message = f"the statement `{' '.join(statement.split())}` was left out"
        if statement.lstrip().upper().startswith(("SELECT", "WITH")):
            self.note(Group.CHANGED, message, "A query has no effect there.")
            return True
        made = made_table(statement, self.each["dialect"])
        if made is None or self.name(made) not in self.others.sources:
            return False
        self.note(Group.MISSING, message, "A source has to exist before a model reads it.")
        return True

    def note_name(self) -> None:
        """Say where its name has become another one."""
        parts = _QUOTES.sub("", str(self.each["name"])).split(".")
        if len(parts) == 3 and parts[0] != self.catalog and not self.others.keeps_catalogs:
            message = f"the catalog {parts[0]} was left out; all tables are in catalog.name"
            self.note(Group.CHANGED, message)
        if any(part != plain_name(part) for part in parts[-2:]):
            message = (
                f"it was called {self.each['name']}; here names consist of letters, digits and _"
            )
            self.note(Group.CHANGED, message)

    def note_statements(self) -> None:
        """Say what was filled in, where a time macro is missing, and what runs no more."""
        for statement in self.each.get("on_virtual_update", ()):
            message = f"on_virtual_update, `{' '.join(statement.split())}`, was left out"
            self.note(Group.MISSING, message, "Grant rights on views in the catalog.")
        if self.path.endswith(".py"):
            self.note(Group.CHANGED, "the SQL that its function returned was written")
        elif filled := self._filled():
            self.note(Group.CHANGED, f"macros were expanded: {' '.join(filled)}")
        if self.each["uncertain"]:
            message = (
                "a macro computes with the time itself, so the day 2001-02-03 was written "
                "where a time macro belongs"
            )
            self.note(Group.EDIT, message, _BY_HAND)

    def _written(self) -> str:
        return str(self.each.get("written") or "").strip().removesuffix(";")

    def _filled(self) -> list[str]:
        """What SQLMesh filled in besides time macros."""
        written = self._written()
        names = {found for found in _MACRO.findall(written) if not _TIME.fullmatch(found)}
        jinja = ["Jinja"] if "{{" in written or "{%" in written else []
        return [*(f"@{name}" for name in sorted(names)), *jinja]

    def expression(self, text: str, translate: Callable[[str, str], str] | None = None) -> str:
        """An expression for Spark; as it was where it cannot be translated, with a remark."""
        try:
            return (translate or spark_expression)(text, self.each["dialect"])
        except NotTranslated as error:
            message = f"`{text}` could not be translated"
            self.note(Group.EDIT, message, f"Write it for Spark: {error}.")
            return text

    def _dropped(self, what: str, value: object) -> None:
        shown = " ".join(str(value)[:80].split())
        self.note(Group.MISSING, f"{what} ({shown}) was left out")

    def _day(self, key: str, value: object) -> str:
        """A date; one that moves with the day of the plan becomes that of today."""
        found = _RELATIVE.fullmatch(str(value))
        if found is None:
            return str(value)
        moved = self.today - timedelta(days=int(found[1]) * _DAYS[found[2].lower()])
        message = f"{key} '{value}' was written as {moved}, a fixed date"
        self.note(Group.CHANGED, message)
        return moved.isoformat()


def reads_with_audits(
    models: Sequence[SqlmeshModel], shared: Mapping[str, Sequence[str]]
) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """What models read if their audits do, too, without a circle; and what audits must not read.

    Args:
        models: All models.
        shared: The audits that have files of their own, with what each reads.
    """
    reads = {each.name(): set(map(each.name, each.each["reads"])) for each in models}
    refused: dict[str, set[str]] = {}
    for each in models:
        name = each.name()
        wanted = {
            table
            for audit, _ in each.each["audits"]
            for table in each.audit_reads(str(audit).lower(), shared)
        }
        for table in sorted(wanted - reads[name]):
            circle = name in _above(table, reads)
            (refused.setdefault(name, set()) if circle else reads[name]).add(table)
    return _frozen(reads), _frozen(refused)


def _above(name: str, reads: Mapping[str, set[str]]) -> set[str]:
    """Everything that a model reads, directly or not."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        new = reads.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return seen


def _frozen(found: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {key: frozenset(value) for key, value in found.items()}
