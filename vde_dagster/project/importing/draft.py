"""What a project of another tool becomes here: models in our language, files, and remarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from vde_dagster.core.errors import Refused


class Group(Enum):
    """What a remark asks of a person, and the heading under which the report has it."""

    EDIT = "Edit before it runs"
    MISSING = "No counterpart"
    CHANGED = "Changed"
    LOOK = "Review"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing that a person should know, at a place in the old project.

    ``line`` counts from 1; 0 where the whole file is meant. ``model`` is empty where the file
    says which model is meant. Remarks with one message and one advice are one in the report.
    """

    group: Group
    path: str
    message: str
    advice: str = ""
    line: int = 0
    model: str = ""


@dataclass(frozen=True, slots=True)
class Notes:
    """Remarks as they are gathered, each once."""

    found: dict[Remark, None] = field(default_factory=dict)

    def add(
        self,
        group: Group,
        path: str,
        message: str,
        advice: str = "",
        *,
        line: int = 0,
        model: str = "",
    ) -> None:
        """Note a remark."""
        remark = Remark(
            group=group, path=path, message=message, advice=advice, line=line, model=model
        )
        self.found[remark] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkText:
    """SQL of another dialect, and the same for Spark."""

    original: str
    spark: str

    @property
    def is_changed(self) -> bool:
        """Whether more than spaces, quotes and the case of letters differ."""
        return _plain(self.original) != _plain(self.spark)


def _plain(text: str) -> str:
    return "".join(text.lower().replace("`", "").replace('"', "").split())


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDraft:
    """A model: its header in our words, and its statements for Spark.

    Args:
        name: As queries name it.
        path: Its file here.
        kind: A kind of docs/reference/kinds.md.
        options: Of the kind, as written in a header.
        properties: Of the model, as written in a header.
        audits: Names with arguments, as written in a header.
        signals: The same.
        query: None of a SEED and a Python model.
        before: Pre-statements.
        after: Post-statements.
        audit_texts: AUDIT blocks that follow the query.
    """

    name: str
    path: str
    kind: str
    options: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    audits: Sequence[tuple[str, Mapping[str, str]]] = ()
    signals: Sequence[tuple[str, Mapping[str, str]]] = ()
    query: SparkText | None = None
    before: Sequence[SparkText] = ()
    after: Sequence[SparkText] = ()
    audit_texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table that others write: its columns with Spark's types."""

    name: str
    columns: Mapping[str, str]
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A whole project.

    Args:
        tool: Whose project it was, with its version.
        settings: The content of vde.yaml.
        models: Those in SQL, and seeds.
        sources: For external_models.yaml.
        files: Every other file, by its path here: Python, seeds, audits, tests.
        remarks: Whatever is not carried over as it was.
        carried: For the report: how many there are of each thing.
    """

    tool: str
    settings: Mapping[str, object]
    models: Sequence[ModelDraft]
    sources: Sequence[Source]
    files: Mapping[str, str]
    remarks: Sequence[Remark]
    carried: Mapping[str, int]


class NotImportable(Refused):
    """A file that was to be imported is not what its tool writes."""
