"""Tables of properties, kinds, audits, macros, settings and variables, from where each is defined.

A sentence about a field is the text below it in its class, or in a class above that one.
"""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

from docs_site.tables import table
from vde_dagster.core.audits.builtins import BUILTINS
from vde_dagster.core.model.kinds import Kind, ScdType2ByColumn, ScdType2ByTime
from vde_dagster.core.model.kinds.facts import KindFacts, Role
from vde_dagster.core.model.row_identity import Property, fate
from vde_dagster.core.model.session_settings import PINNED
from vde_dagster.core.sql.dialects import SUPPORTED
from vde_dagster.core.sql.macros import FORMS, TimeRange, time_literal
from vde_dagster.core.variables import Variable
from vde_dagster.project.macros.builtin import BUILTINS as MACROS
from vde_dagster.project.properties.evaluation_properties import USELESS
from vde_dagster.project.properties.kind_options import FIELDLESS, options_of
from vde_dagster.project.properties.known_properties import PROPERTIES
from vde_dagster.project.written_settings import WrittenConfiguration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KINDS: Final[dict[str, type[KindFacts]]] = {each.keyword: each for each in get_args(Kind)}
KINDS_PAGE: Final = Path(__file__).parents[1] / "docs" / "reference" / "kinds.md"
_DAY: Final = TimeRange(
    start=datetime(2024, 1, 31, tzinfo=UTC),
    end=datetime(2024, 2, 1, tzinfo=UTC),
    execution_time=datetime(2024, 2, 1, 6, 30, tzinfo=UTC),
)


def texts_below(cls: type) -> dict[str, str]:
    """The text below each field of a class and of those above it; else that of a property."""
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__[:-1]):
        if each.__module__.startswith("vde_dagster."):
            (node,) = ast.parse(inspect.cleandoc("\n" + inspect.getsource(each))).body
            assert isinstance(node, ast.ClassDef)
            found |= dict(_texts(node.body))
    return found


def _texts(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for node, below in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
            yield node.name, " ".join(text.split())
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        match below:
            case ast.Expr(value=ast.Constant(value=str(text))) if isinstance(target, ast.Name):
                yield target.id, " ".join(text.split())


def property_table() -> str:
    """All properties of models."""
    rows = (
        (
            f"`{name}`",
            f"{each.about} `{each.example}`" if each.example else each.about,
            each.default,
        )
        for name, each in PROPERTIES.items()
    )
    return table(["property", "meaning", "default"], rows)


def refused_table() -> str:
    """The kinds in whose models a property is refused."""
    rows = (
        (f"`{name}`", ", ".join(keyword for keyword, kind in KINDS.items() if kind in refused))
        for name, refused in USELESS.items()
    )
    return table(["property", "kinds"], rows)


def dialect_list() -> str:
    """All dialects."""
    return f"Dialects: {', '.join(f'`{each}`' for each in SUPPORTED)}."


def kind_table() -> str:
    """All kinds, each with how it is loaded and restated."""
    rows = (
        (
            f"[{keyword}](#{keyword.lower()})",
            _first_sentence(kind),
            kind.loading.value,
            _restated(kind),
        )
        for keyword, kind in KINDS.items()
    )
    return table(["kind", "meaning", "rows are computed", "restated"], rows)


def _first_sentence(kind: type) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0].replace("``", "`")


def _restated(kind: type[KindFacts]) -> str:
    if kind.role is not Role.TABLE:
        return ""
    own = {each.name: each.default for each in fields(kind)}  # type: ignore[arg-type]
    if own.get("disable_restatement") is True:
        return "as a whole; not by default"
    return "as a whole" if kind.__new__(kind).restates_whole else "any range"


def option_table(keyword: str) -> str:
    """The options of a kind, with defaults."""
    defaults = {each.name: each.default for each in fields(KINDS[keyword])}  # type: ignore[arg-type]
    texts = {**texts_below(KINDS[keyword]), **FIELDLESS.get(keyword, {})}
    rows = [
        (f"`{name}`", texts[name], _default(defaults.get(name))) for name in options_of(keyword)
    ]
    return table(["option", "meaning", "default"], rows) if rows else "It has no options."


def other_kinds() -> str:
    """Sections of kinds to which the page gives none."""
    written = re.findall(r"^## ([A-Z0-9_]+)$", KINDS_PAGE.read_text("utf-8"), re.MULTILINE)
    return "\n\n".join(
        f"## {keyword}\n\n{_first_sentence(kind)}\n\n{option_table(keyword)}"
        for keyword, kind in KINDS.items()
        if keyword not in written
    )


def edit_table() -> str:
    """What becomes of a table if a property changes that tells its rows apart."""
    kinds = [each for each in KINDS.values() if each.role is Role.TABLE and _may_be_kept(each)]
    names = [
        "SCD_TYPE_2_…" if each is ScdType2ByColumn else each.keyword.removeprefix("INCREMENTAL_")
        for each in kinds
    ]
    rows = [
        [changed.value, *(str(fate(changed, kind) or "") for kind in kinds)] for changed in Property
    ]
    return table(["what changes", *names], rows)


def _may_be_kept(kind: type[KindFacts]) -> bool:
    return kind is not ScdType2ByTime and fate(Property.CRON, kind) is not None


def audit_table() -> str:
    """All built-in audits."""
    rows = (
        (
            f"`{name}`",
            ", ".join(
                f"`{each.name}`" if each.required else f"`{each.name}`?" for each in own(name)
            ),
            audit.fails,
            audit.unknown,
        )
        for name, audit in BUILTINS.items()
    )
    return table(["audit", "arguments", "fails if", "NULL"], rows)


def own(name: str) -> list[Any]:
    """The parameters of a built-in audit, without those that every audit has."""
    every = set.intersection(*({*each.parameters} for each in BUILTINS.values()))
    return [each for each in BUILTINS[name].parameters if each not in every]


def argument_table() -> str:
    """The arguments of built-in audits, by name and form."""
    forms: dict[tuple[str, str], list[str]] = {}
    for name, audit in BUILTINS.items():
        for each in audit.parameters:
            forms.setdefault((each.name, each.form.value), []).append(name)
    several = {name for name, _ in forms if [first for first, _ in forms].count(name) > 1}
    rows = (
        (
            f"`{name}`",
            form,
            "every audit"
            if len(audits) == len(BUILTINS)
            else ", ".join(f"`{each}`" for each in audits)
            if name in several
            else "",
        )
        for (name, form), audits in forms.items()
    )
    return table(["argument", "value", "of"], rows)


def macro_table() -> str:
    """The macros of the language."""
    rows = ((_as_code(each.usage), each.about) for each in MACROS.values())
    return table(["macro", "meaning"], rows)


def _as_code(usage: str) -> str:
    return "<br>".join(f"`{each}`" for each in usage.split(" or "))


def time_macro_table() -> str:
    """The forms of time macros, with what they give for a day."""
    rows = (
        (
            f"`@start_{form}`, `@end_{form}`",
            each.about,
            *(
                f"`{time_literal(f'{moment}_{form}', _DAY).sql('spark')}`"
                for moment in ("start", "end")
            ),
        )
        for form, each in FORMS.items()
    )
    return table(["macros", "form", "start", "end"], rows)


def setting_table() -> str:
    """All keys of vde.yaml, with defaults."""
    return table(["key", "meaning", "default"], _settings(WrittenConfiguration, ""))


def _settings(section: type, prefix: str) -> Iterator[tuple[str, str, str]]:
    texts, hints = texts_below(section), get_type_hints(section)
    for each in sorted(fields(section), key=lambda field: field.name != "name"):
        inner = [
            found for found in (hints[each.name], *get_args(hints[each.name])) if _is_section(found)
        ]
        default = "" if inner or each.default_factory is not MISSING else _default(each.default)
        yield f"`{prefix}{each.name}`", texts[each.name], default
        named = "" if _is_section(hints[each.name]) else "<name>."
        for found in inner:
            yield from _settings(found, f"{prefix}{each.name}.{named}")


def _is_section(hint: object) -> bool:
    return isinstance(hint, type) and is_dataclass(hint) and hint.__module__.endswith("settings")


def _default(value: object) -> str:
    """A default as it is written in a file; empty where the sentence says it."""
    match value:
        case _ if value is MISSING:
            return "required"
        case None | ():
            return ""
        case bool():
            written = str(value).lower()
        case timedelta(days=days):
            written = f"{days} day{'s' if days > 1 else ''}"
        case Enum():
            written = str(value.value)
        case int() if value >= 1_000_000:
            written = f"{value // 1_000_000} MB"
        case _:
            written = str(value)
    return f"`{written}`"


def pinned_table() -> str:
    """Settings of Spark that every session has."""
    rows = ((f"`{name}`", f"`{value}`") for name, value in PINNED.items())
    return table(["pinned setting", "value"], rows)


def variable_table() -> str:
    """The environment variables that are read."""
    texts = texts_below(Variable)
    rows = ((f"`{each}`", texts[each.name]) for each in Variable)
    return table(["variable", "meaning"], rows)


GENERATORS: Final[dict[str, Callable[..., str]]] = {
    "arguments": argument_table,
    "audits": audit_table,
    "dialects": dialect_list,
    "edits": edit_table,
    "kinds": kind_table,
    "macros": macro_table,
    "options": option_table,
    "other-kinds": other_kinds,
    "pinned": pinned_table,
    "properties": property_table,
    "refused-properties": refused_table,
    "settings": setting_table,
    "time-macros": time_macro_table,
    "variables": variable_table,
}
"""By the name in a marker of a page."""
