"""The audits that a model calls: built-in ones are checked, the project's are read for it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.tokenizer_core import TokenType

from vde_dagster.core.audits.binding import is_blocking, wrong_calls
from vde_dagster.core.audits.builtins import BLOCKING, BUILTINS, base_name
from vde_dagster.core.audits.values import THIS_MODEL
from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.model.model import AuthorsText, Call, OwnAudit
from vde_dagster.core.names import DEFAULT_SCHEMA, ModelName
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.core.sql.rendering import model_name_of
from vde_dagster.core.sql.star_macro import is_star_macro
from vde_dagster.core.sql.table_names import project_names
from vde_dagster.project.audits import FOLDER, Audits, Definition
from vde_dagster.project.macros.builtin import BUILTINS as MACROS
from vde_dagster.project.macros.files import UserMacro, load_user_macros
from vde_dagster.project.macros.language import MacroScope, read_statements
from vde_dagster.project.macros.values import with_written
from vde_dagster.project.problems import Problems, suggestion
from vde_dagster.project.properties.model_properties import Properties
from vde_dagster.project.settings import Settings

_MACRO: Final = re.compile(r"@\{?\s*(\w+)\s*(\()?")
_DEFINED: Final = re.compile(r"@def\s*\(\s*(\w+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledAudits:
    """The declared audits that a model calls, and the project's variables and files they use."""

    own: tuple[OwnAudit, ...] = ()
    used_variables: frozenset[str] = frozenset()
    used_files: frozenset[str] = frozenset()


def called_audits(
    properties: Properties,
    settings: Settings,
    functions: Mapping[str, UserMacro | Problem] | None,
    parents: Collection[ModelName] | None,
    *,
    place: Place,
    problems: Problems,
    beside: Audits | None = None,
) -> CalledAudits:
    """The audits that a model's properties call, as `read_calls` reads them.

    Args:
        properties: The model's.
        settings: The project's, with its audits.
        functions: The project's macros; those that are attached to the source where None.
        parents: What the model reads; None if that is not known, since its query has problems.
        place: Of the model.
        problems: Takes what is wrong.
        beside: The audits of the model's own file.
    """
    audits = settings.known_audits(problems)
    if beside is not None:
        inner = len(audits.problems)
        audits = audits.beside(beside)
        problems.found += audits.problems[inner:]
        _warn_of_unused(beside, properties.model.audits, problems)
    if not properties.model.audits:
        return CalledAudits()
    if functions is None:
        files = settings.source.attachments.items()
        macros = {path: text for path, text in files if path.startswith("macros/")}
        functions, _ = load_user_macros(macros)  # what is wrong with a file is reported at the file
    if properties.model.kind.is_inlined:
        message = (
            f"a model of kind {properties.model.kind.keyword} stores no rows, so its audits do not "
        )
        message += "run"
        advice = "Audit the models that read it, or let it be FULL."
        problems.warn(properties.places.get("audits", place), message, advice)
    return read_calls(
        properties.model.audits,
        audits,
        MacroScope(variables=settings.variables, functions=functions),
        parents=parents,
        catalog=settings.defaults.catalog,
        place=place,
        problems=problems,
    )


def _warn_of_unused(beside: Audits, calls: Collection[Call], problems: Problems) -> None:
    named = {base_name(each.name) for each in calls}
    for name, definition in beside.definitions.items():
        if name not in named:
            message = f"the audit {name} is declared with the model and never runs"
            problems.warn(definition.place, message, f"Write `audits ({name})` in the MODEL block.")


def read_calls(
    calls: Collection[Call],
    audits: Audits,
    scope: MacroScope,
    *,
    parents: Collection[ModelName] | None,
    catalog: str,
    place: Place,
    problems: Problems,
) -> CalledAudits:
    """The audits that a model calls.

    Args:
        calls: As the model writes them.
        audits: The project's, and those of the model's file.
        scope: What their macros may refer to.
        parents: What the model reads; its audits may read the same. None if it is not known.
        catalog: The project's own.
        place: Of the model, for calls that have none.
        problems: Takes what is wrong: unknown audits, wrong arguments, and queries.

    Raises:
        RecursionError: A query is nested too deeply.
    """
    own: list[OwnAudit] = []
    variables: set[str] = set()
    files: set[str] = set()
    for call in calls:
        name, where = base_name(call.name), call.place or place
        definition = audits.definitions.get(name)
        if name in BUILTINS:
            for each in wrong_calls(call):
                problems.add(where, each.message, each.advice)
        elif definition is None:
            if name not in audits.unread:
                known = [*sorted(audits.definitions), *sorted(BUILTINS)]
                message = f"the audit {name} is neither built in nor declared in {FOLDER}"
                problems.add(where, message, suggestion(name, known))
        else:
            read = _Reader(definition, call, where, scope, problems)
            query = read.query(parents=parents, catalog=catalog)
            variables |= read.used_variables
            files |= read.used_files
            if query is not None:
                blocking = is_blocking(call.name, read.given, default=definition.blocking)
                at = definition.query_place
                own.append(
                    OwnAudit(call=call, query=query, text=read.text, blocking=blocking, place=at)
                )
    return CalledAudits(
        own=tuple(own), used_variables=frozenset(variables), used_files=frozenset(files)
    )


class _Reader:
    """Reads the query of one audit for one call of it."""

    def __init__(
        self,
        definition: Definition,
        call: Call,
        place: Place,
        scope: MacroScope,
        problems: Problems,
    ) -> None:
        self._definition = definition
        self._call = call
        self._place = place
        self._scope = scope
        self._problems = problems
        texts = dict(call.written)
        self.given = {
            name: with_written(_node(sql), texts[name]) if name in texts else _node(sql)
            for name, sql in call.arguments
        }
        self.text = AuthorsText(catalog="")
        self.used_variables: frozenset[str] = frozenset()
        path = definition.place.path.as_posix()
        self.used_files: frozenset[str] = frozenset({path} if path.startswith(FOLDER) else ())

    def query(self, *, parents: Collection[ModelName] | None, catalog: str) -> exp.Query | None:
        """The query with the arguments in it; None (and problems) if anything is wrong."""
        defaults = {name: _node(sql) for name, sql in self._definition.defaults.items()}
        values: dict[str, object] = {**defaults, **self.given}
        values.pop(BLOCKING, None)
        if not self._arguments_fit(set(values)):
            return None
        values[THIS_MODEL] = exp.column(THIS_MODEL)
        scope = MacroScope(
            variables={**self._scope.variables, **values}, functions=self._scope.functions
        )
        place = self._definition.query_place
        before = len(self._problems.found)
        read = read_statements(
            self._definition.text,
            dialect=self._definition.dialect,
            place=place,
            scope=scope,
            problems=self._problems,
        )
        if read is None or len(self._problems.found) > before:
            return None
        self.used_variables = read.used_variables - set(values)
        self.used_files |= read.used_files
        if read.texts:
            self.text = AuthorsText(catalog=catalog, query=read.texts[0])
        return self._checked(read.expressions, place, parents, catalog)

    def _arguments_fit(self, given: set[str]) -> bool:
        names = self._parameters()
        known = names | set(self._definition.defaults)
        name, before = self._definition.name, len(self._problems.found)
        for each in sorted(given - known):
            advice = suggestion(each, sorted(known)) if known else "It takes no arguments."
            self._problems.add(self._place, f"the audit {name} has no argument {each!r}", advice)
        missing = names - given - set(self._scope.variables) if given <= known else set()
        for each in sorted(missing):
            message = f"the audit {name} ({self._definition.place}) needs the argument {each!r}"
            advice = f"Write `{name} ({each} := ...)`, or give it a default in the AUDIT block."
            self._problems.add(self._place, message, advice)
        return len(self._problems.found) == before

    def _parameters(self) -> set[str]:
        """The parameters in the query's text: ``@`` names that are no other macros."""
        text = _without_strings(self._definition.text, self._definition.dialect)
        known = {*TIME_MACROS, *MACROS, *self._scope.functions, THIS_MODEL}
        known |= {each.lower() for each in _DEFINED.findall(text)}
        found = {name.lower() for name, called in _MACRO.findall(text) if not called}
        return found - known

    def _checked(
        self,
        found: Collection[exp.Expr],
        place: Place,
        parents: Collection[ModelName] | None,
        catalog: str,
    ) -> exp.Query | None:
        queries = [each for each in found if isinstance(each, exp.Query)]
        name = self._definition.name
        if len(queries) != 1 or len(found) != 1:
            message = f"the audit {name} has {len(found)} statements"
            self._problems.add(place, message, "An audit is one query for the rows that fail.")
            return None
        if any(is_star_macro(each) for each in queries[0].walk()):
            message = f"the audit {name} uses @STAR or @UNION, which only models' queries have"
            self._problems.add(place, message, "Name the columns, or write *.")
            return None
        try:
            query = _named(queries[0], catalog)
        except SQL_ERRORS as error:
            message = f"the audit {name} cannot be understood: {first_line(error)}"
            self._problems.add(place, message, "Check its SQL.")
            return None
        return query if self._reads_known(query, place, parents) else None

    def _reads_known(
        self, query: exp.Query, place: Place, parents: Collection[ModelName] | None
    ) -> bool:
        name, before = self._definition.name, len(self._problems.found)
        read = {model_name_of(table) for table in query.find_all(exp.Table)} - {None}
        unknown = (
            [] if parents is None else sorted(str(each) for each in read if each not in parents)
        )
        for each in unknown:
            message = f"the audit {name} ({place}) reads {each}, which the model does not read"
            advice = f"Write `depends_on ({each})` in the model, so that it is there in time."
            self._problems.add(self._place, message, advice)
        return len(self._problems.found) == before


def _named(query: exp.Query, catalog: str) -> exp.Query:
    """A query whose tables are named as a project names them, without its comments."""
    normalized = normalize_identifiers(query, dialect="spark")
    named = project_names(normalized, catalog, copy=False)
    for node in named.walk():
        node.comments = None
        if isinstance(node, exp.Table) and _is_this_model(node):
            node.set("db", None)
    _name_tables(named)
    return named


def _is_this_model(table: exp.Table) -> bool:
    return table.db == DEFAULT_SCHEMA and table.name == THIS_MODEL and not table.catalog


def _without_strings(text: str, dialect: str) -> str:
    """A text without its strings and comments; unchanged if it cannot be read."""
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(text)
    except SQL_ERRORS:
        return text
    written, last = "", -1
    for token in tokens:
        blank = "" if token.start == last + 1 else " "
        is_text = token.token_type is TokenType.STRING
        written += blank + ("''" if is_text else text[token.start : token.end + 1])
        last = token.end
    return written


def _node(sql: str) -> exp.Expr:
    return sqlglot.parse_one(sql, dialect="spark")


_CAN_HAVE_ALIAS: Final = (exp.From, exp.Join, exp.Delete, exp.Update, exp.Merge)


def _name_tables(statement: exp.Expr) -> None:
    """Make each table's name its alias, so that qualified columns still find it.

    The canonical form of a query has done so already, but statements stay as they are written.
    """
    named: set[tuple[str, str]] = set()
    for table in statement.find_all(exp.Table):
        named.add((table.db.lower(), table.name.lower()))
        can_have = isinstance(table.parent, _CAN_HAVE_ALIAS)
        if can_have and table.db and not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
    for column in statement.find_all(exp.Column):
        if (column.db.lower(), column.table.lower()) in named:  # else a field of a column
            column.set("catalog", None)
            column.set("db", None)
