"""Unit tests of SQLMesh, which are read here as they are but for a range with one end."""

from __future__ import annotations

from collections.abc import Iterator

import yaml


def with_whole_ranges(text: str) -> str:
    """A file of tests in which ``start`` and ``end`` are given together: a day, if one was."""
    edits = list(_edits(text))
    for place, added in sorted(edits, reverse=True):
        text = text[:place] + added + text[place:]
    return text


def _edits(text: str) -> Iterator[tuple[int, str]]:
    try:
        root = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError:
        return  # what is wrong with it the project's own loader says, with its line
    for _, test in _pairs(root):
        for key, variables in _pairs(test):
            if key != "vars" or not isinstance(variables, yaml.MappingNode):
                continue
            given = {str(name.value): (name, value) for name, value in variables.value}
            if ("start" in given) == ("end" in given):
                continue
            name, value = given.get("start") or given["end"]
            other = "end" if "start" in given else "start"
            joint = ", " if variables.flow_style else "\n" + " " * name.start_mark.column
            written = text[value.start_mark.index : value.end_mark.index].strip()
            yield name.start_mark.index, f"{other}: {written}{joint}"


def _pairs(node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield str(name.value), value
