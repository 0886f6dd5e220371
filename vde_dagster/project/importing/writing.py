"""The files of a draft, and the report of an import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml

from vde_dagster.core.errors import Problem, Refused
from vde_dagster.core.listing import plural
from vde_dagster.project.importing.draft import Draft, Group, ModelDraft, Remark, Source, SparkText
from vde_dagster.project.importing.spark_sql import quoted

REPORT: Final = "IMPORT.md"
_PLACES: Final = 5
"""Of how many models a remark names the files."""


def write_draft(draft: Draft, folder: Path) -> None:
    """Write the files of a draft, all but the report.

    Raises:
        Refused: The folder has something in it, or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Refused(f"{folder} is not empty; nothing was written", advice="Name a new folder.")
    try:
        for path, text in files_of(draft).items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8", newline="")
    except OSError as error:
        raise Refused(f"{folder} cannot be written: {error.strerror}") from error


def files_of(draft: Draft) -> dict[str, str]:
    """The texts of a draft's files, by path."""
    found = {
        "vde.yaml": yaml.safe_dump(dict(draft.settings), sort_keys=False, allow_unicode=True),
        **draft.files,
        **{each.path: model_text(each) for each in draft.models},
    }
    if draft.sources:
        found["external_models.yaml"] = _sources(draft.sources)
    return found


def model_text(model: ModelDraft) -> str:
    """The file of a model."""
    lines = [f"name {model.name}", f"kind {model.kind}{_options(model.options)}"]
    lines += [f"{key} {value}" for key, value in model.properties.items()]
    for key, calls in (("audits", model.audits), ("signals", model.signals)):
        if calls:
            inner = ",\n".join(f"    {_call(name, given)}" for name, given in calls)
            lines.append(f"{key} (\n{inner}\n  )")
    block = "MODEL (\n" + ",\n".join(f"  {each}" for each in lines) + "\n);\n"
    statements = [*model.before, *([model.query] if model.query else []), *model.after]
    texts = [block, *(f"{each.spark};\n" for each in statements), *model.audit_texts]
    return "\n".join(texts)


def audit_text(
    name: str,
    query: str,
    defaults: Mapping[str, str],
    *,
    blocking: bool = True,
    description: str = "",
) -> str:
    """An AUDIT block with its query."""
    lines = [f"name {name}", *([f"description {quoted(description)}"] if description else [])]
    if defaults:
        lines.append(
            f"defaults ({', '.join(f'{key} := {each}' for key, each in defaults.items())})"
        )
    if not blocking:
        lines.append("blocking false")
    return "AUDIT (\n" + ",\n".join(f"  {each}" for each in lines) + f"\n);\n\n{query};\n"


def report(draft: Draft, problems: Sequence[Problem], warnings: Sequence[Problem]) -> str:
    """The text of ``IMPORT.md``.

    Args:
        draft: What was written.
        problems: What stops the written project from being loaded.
        warnings: What its loader warns of.
    """
    parts = [
        f"# Import from {draft.tool}\n",
        "These files belong to you from now on; the import is not needed again.\n",
        _carried(draft),
        *_problems(problems, "Errors"),
        *([] if problems else ["The project loads. Preview its first plan: `vde plan dev`.\n"]),
        *_problems(warnings, "Warnings"),
        *(part for group in Group for part in _remarks(draft.remarks, group)),
        *_translations(draft.models),
    ]
    return "\n".join(parts)


def _options(options: Mapping[str, str]) -> str:
    if not options:
        return ""
    return " (\n" + ",\n".join(f"    {key} {value}" for key, value in options.items()) + "\n  )"


def _call(name: str, given: Mapping[str, str]) -> str:
    arguments = ", ".join(f"{key} := {value}" for key, value in given.items())
    return f"{name} ({arguments})" if arguments else name


def _sources(sources: Sequence[Source]) -> str:
    entries = [
        {
            "name": each.name,
            **({"description": each.description} if each.description else {}),
            "columns": dict(each.columns),
        }
        for each in sources
    ]
    return yaml.safe_dump(entries, sort_keys=False, allow_unicode=True)


def _carried(draft: Draft) -> str:
    rows = [f"| {what} | {count} |" for what, count in draft.carried.items() if count]
    return "\n".join(["## Imported\n", "| What | Number |", "| --- | --- |", *rows, ""])


def _problems(problems: Sequence[Problem], heading: str) -> Iterator[str]:
    said = [(f"`{each.place}`", each.message, each.advice) for each in problems]
    if said:
        yield from _section(heading, said, "Places are in the new project.\n")


def _remarks(remarks: Sequence[Remark], group: Group) -> Iterator[str]:
    chosen = (each for each in remarks if each.group is group)
    ordered = sorted(chosen, key=lambda one: (one.path, one.line, one.model))
    said = [(_place(each), each.message, each.advice) for each in ordered]
    if said:
        yield from _section(group.value, said)


def _section(heading: str, said: Sequence[tuple[str, str, str]], about: str = "") -> Iterator[str]:
    """What is said, each with its place, message and advice; what is the same is said once."""
    same: dict[tuple[str, str], list[str]] = {}
    for place, message, advice in said:
        same.setdefault((message, advice), []).append(place)
    yield f"## {heading} ({len(same)})\n"
    if about:
        yield about
    for (message, advice), places in same.items():
        shown = ", ".join(places[:_PLACES])
        more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
        yield f"- {shown}{more}: {_inline(message)}. {_inline(advice)}".rstrip()
    yield ""


def _place(remark: Remark) -> str:
    line = f":{remark.line}" if remark.line else ""
    return f"`{remark.path}{line}`" + (f" ({remark.model})" if remark.model else "")


def _inline(text: str) -> str:
    return " ".join(text.split())


def _translations(models: Sequence[ModelDraft]) -> Iterator[str]:
    changed: list[tuple[ModelDraft, SparkText]] = [
        (each, text)
        for each in models
        for text in (*each.before, *filter(None, [each.query]), *each.after)
        if text.is_changed
    ]
    if not changed:
        return
    yield f"## Translated SQL ({plural(len(changed), 'statement')})\n"
    yield (
        "sqlglot translated these statements. It is not proven that both texts mean the "
        "same: test them.\n"
    )
    for each, text in changed:
        yield f"### {each.name}\n\n```sql\n{text.original}\n```\n\n```sql\n{text.spark}\n```\n"
