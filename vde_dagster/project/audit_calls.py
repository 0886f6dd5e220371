"""The audits and signals that a model calls, and the model with all that they use.

Built-in audits are checked, the project's are read for the model.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
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
from vde_dagster.core.model.model import AuthorsText, Body, Call, Model, OwnAudit
from vde_dagster.core.names import DEFAULT_SCHEMA, ModelName
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.core.sql.star_macro import is_star_macro
from vde_dagster.core.sql.table_names import model_name_of, project_names
from vde_dagster.project.audits import FOLDER, Audits, Definition
from vde_dagster.project.macros.builtin import BUILTINS as MACROS
from vde_dagster.project.macros.files import UserMacro, load_user_macros
from vde_dagster.project.macros.language import MacroScope, read_statements
from vde_dagster.project.macros.texts import with_written
from vde_dagster.project.problems import Problems, suggestion
from vde_dagster.project.properties.model_properties import Properties, build_model
from vde_dagster.project.settings import Settings

_MACRO: Final = re.compile(r"@\s*\{?\s*(\w+)\s*(\()?")
_DEFINED: Final = re.compile(r"@\s*def\s*\(\s*(\w+)", re.IGNORECASE)
_CAN_HAVE_ALIAS: Final = (exp.From, exp.Join, exp.Delete, exp.Update, exp.Merge)


def model_with_calls(
    properties: Properties,
    settings: Settings,
    functions: Mapping[str, UserMacro | Problem] | None,
    body: Body,
    parents: Collection[ModelName] | None,
    *,
    used: tuple[Collection[str], Collection[str]],
    problems: Problems,
    beside: Audits | None = None,
) -> Model | None:
    """The model of a body, with its own audits; None if there is no body.

    Args:
        properties: The model's.
        settings: The project's, with its audits.
        functions: The project's macros; those that are attached to the source where None.
        body: None if it has problems.
        parents: What the model reads; None if that is not known, since its query has problems.
        used: The variables and files of the project that the body uses.
        problems: Takes what is wrong: unknown signals and audits, wrong arguments, and queries.
        beside: The audits of the model's own file.

    Raises:
        RecursionError: A query is nested too deeply.
    """
    model = properties.model
    place = properties.places.get("signals", model.place)
    gates = settings.signal_files(model.signals, place, problems)
    called = _called_audits(
        properties, settings, functions, parents, problems=problems, beside=beside
    )
    if body is None:
        return None
    variables, files = used
    kept = settings.used({*variables, *called.used_variables}, {*files, *gates, *called.used_files})
    return build_model(kept, properties, body, parents or (), own_audits=called.own)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CalledAudits:
    """The declared audits that a model calls, and the project's variables and files they use."""

    own: tuple[OwnAudit, ...] = ()
    used_variables: frozenset[str] = frozenset()
    used_files: frozenset[str] = frozenset()


def _called_audits(
    properties: Properties,
    settings: Settings,
    functions: Mapping[str, UserMacro | Problem] | None,
    parents: Collection[ModelName] | None,
    *,
    problems: Problems,
    beside: Audits | None,
) -> _CalledAudits:
    model, audits = properties.model, settings.known_audits(problems)
    if beside is not None:
        inner = len(audits.problems)
        audits = audits.beside(beside)
        problems.found += audits.problems[inner:]
        _warn_of_unused(beside, model.audits, problems)
    if not model.audits:
        return _CalledAudits()
    if functions is None:  # what is wrong with a file is reported at the file
        functions, _ = load_user_macros(settings.source.attachments)
    if model.kind.is_inlined:
        message = f"a model of kind {model.kind.keyword} stores no rows, so its audits do not run"
        advice = "Audit the downstream models, or use the kind FULL."
        problems.warn(properties.places.get("audits", model.place), message, advice)
    reader = _Reader(
        scope=MacroScope(variables=settings.variables, functions=functions),
        parents=parents,
        catalog=settings.defaults.catalog,
        problems=problems,
    )
    called: list[_CalledAudits] = []
    for call in model.audits:
        name, where = base_name(call.name), call.place or model.place
        definition = audits.definitions.get(name)
        if name in BUILTINS:
            for each in wrong_calls(call):
                problems.add(where, each.message, each.advice)
        elif definition is not None:
            called.append(reader.called(definition, call, where))
        elif name not in audits.unread:
            known = [*sorted(audits.definitions), *sorted(BUILTINS)]
            message = f"the audit {name} is neither built in nor declared in {FOLDER}"
            problems.add(where, message, suggestion(name, known))
    return _CalledAudits(
        own=tuple(own for each in called for own in each.own),
        used_variables=frozenset().union(*(each.used_variables for each in called)),
        used_files=frozenset().union(*(each.used_files for each in called)),
    )


def _warn_of_unused(beside: Audits, calls: Collection[Call], problems: Problems) -> None:
    named = {base_name(each.name) for each in calls}
    for name, definition in beside.definitions.items():
        if name not in named:
            message = f"the audit {name} is declared with the model but never runs"
            problems.warn(definition.place, message, f"Write `audits ({name})` in the MODEL block.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Reads the queries of a model's own audits; see `model_with_calls`."""

    scope: MacroScope
    parents: Collection[ModelName] | None
    catalog: str
    problems: Problems

    def called(self, definition: Definition, call: Call, where: Place) -> _CalledAudits:
        """One call of an audit; none (and problems) if anything is wrong."""
        texts, before = dict(call.written), len(self.problems.found)
        given = {
            name: with_written(_node(sql), texts[name]) if name in texts else _node(sql)
            for name, sql in call.arguments
        }
        defaults = {name: _node(sql) for name, sql in definition.defaults.items()}
        values: dict[str, object] = {**defaults, **given}
        values.pop(BLOCKING, None)
        self._check_arguments(definition, set(values), where)
        if len(self.problems.found) > before:
            return _CalledAudits()
        values[THIS_MODEL] = exp.column(THIS_MODEL)
        read = read_statements(
            definition.text,
            dialect=definition.dialect,
            place=definition.query_place,
            scope=replace(self.scope, variables={**self.scope.variables, **values}),
            problems=self.problems,
        )
        if read is None or len(self.problems.found) > before:
            return _CalledAudits()
        query = self._query(read.expressions, definition, where)
        if query is None:
            return _CalledAudits()
        own = OwnAudit(
            call=call,
            query=query,
            text=AuthorsText(catalog=self.catalog, query=read.texts[0]),
            blocking=is_blocking(call.name, given, default=definition.blocking),
            place=definition.query_place,
        )
        path = definition.place.path.as_posix()
        return _CalledAudits(
            own=(own,),
            used_variables=read.used_variables - set(values),
            used_files=read.used_files.union({path} if path.startswith(FOLDER) else ()),
        )

    def _check_arguments(self, definition: Definition, given: set[str], where: Place) -> None:
        names, name = self._parameters(definition), definition.name
        known = names | set(definition.defaults)
        for each in sorted(given - known):
            advice = suggestion(each, sorted(known)) if known else "It takes no arguments."
            self.problems.add(where, f"the audit {name} has no argument {each!r}", advice)
        missing = names - given - set(self.scope.variables) if given <= known else set()
        for each in sorted(missing):
            message = f"the audit {name} ({definition.place}) needs the argument {each!r}"
            advice = f"Write `{name} ({each} := ...)`, or give it a default in the AUDIT block."
            self.problems.add(where, message, advice)

    def _parameters(self, definition: Definition) -> set[str]:
        """The parameters in the query's text: ``@`` names that are not other macros."""
        text = _without_strings(definition.text, definition.dialect)
        known = {*TIME_MACROS, *MACROS, *self.scope.functions, THIS_MODEL}
        known |= {each.lower() for each in _DEFINED.findall(text)}
        found = {name.lower() for name, called in _MACRO.findall(text) if not called}
        return found - known

    def _query(
        self, found: Collection[exp.Expr], definition: Definition, where: Place
    ) -> exp.Query | None:
        place, audit = definition.query_place, f"the audit {definition.name}"
        queries = [each for each in found if isinstance(each, exp.Query)]
        if len(queries) != 1 or len(found) != 1:
            message = f"{audit} has {len(found)} statements"
            self.problems.add(
                place, message, "Write an audit as one query that selects the rows that fail."
            )
            return None
        if any(is_star_macro(each) for each in queries[0].walk()):
            message = f"{audit} uses @STAR or @UNION, which work only in the query of a model"
            self.problems.add(place, message, "Name the columns, or write *.")
            return None
        try:
            query = _named(queries[0], self.catalog)
        except SQL_ERRORS as error:
            message = f"{audit} does not parse: {first_line(error)}"
            self.problems.add(place, message, "Check its SQL.")
            return None
        read = {model_name_of(table) for table in query.find_all(exp.Table)} - {None}
        unknown = [] if self.parents is None else sorted(map(str, read - set(self.parents)))
        for each in unknown:
            message = f"{audit} ({place}) reads {each}, which the model does not read"
            advice = f"Write `depends_on ({each})` in the model, so that it is loaded first."
            self.problems.add(where, message, advice)
        return None if unknown else query


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
    kept = (each for each in tokens if each.token_type is not TokenType.STRING)
    return " ".join(text[each.start : each.end + 1] for each in kept)


def _node(sql: str) -> exp.Expr:
    return sqlglot.parse_one(sql, dialect="spark")


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
