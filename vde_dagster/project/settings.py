"""The settings that a model depends on besides its text, as they are stored with it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from vde_dagster.core.errors import Place, Refused
from vde_dagster.core.model.model import SESSION, Call, ModelSource
from vde_dagster.project.audits import Audits, load_audits
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.problems import Problems
from vde_dagster.project.signals import FOLDER, Signals

_VARIABLES: Final = "variables"
_LEFT_OUT: Final = "variables_left_out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A model's source with its settings: the project's defaults and variables.

    Only the variables and files that a model uses are stored with it, so that another model's
    setting is not part of it. ``signals`` and ``audits`` are the project's, None if only those
    files are known that are attached to the source.
    """

    source: ModelSource
    defaults: Defaults
    variables: Mapping[str, object]
    signals: Signals | None = None
    audits: Audits | None = None

    @classmethod
    def of(
        cls,
        source: ModelSource,
        *,
        signals: Signals | None = None,
        audits: Audits | None = None,
    ) -> Settings:
        """The settings in a source."""
        return cls(
            source=source,
            defaults=Defaults.from_texts(source.defaults),
            variables=variables_of(source),
            signals=signals,
            audits=audits,
        )

    def signal_files(
        self, calls: Collection[Call], place: Place, problems: Problems
    ) -> Collection[str]:
        """The attached files of the signals that a model names at a place."""
        if self.signals is not None:
            return self.signals.files_of(calls, place, problems)
        return {path for path in self.source.attachments if calls and path.startswith(FOLDER)}

    def known_audits(self, problems: Problems) -> Audits:
        """The project's audits, or the attached ones; what is wrong with these is reported."""
        if self.audits is not None:
            return self.audits
        attached = load_audits(self.source.attachments, dialect=self.defaults.dialect)
        problems.found += attached.problems
        return attached

    def used(self, variables: Collection[str], files: Collection[str]) -> ModelSource:
        """The source with no more than these variables and attached files."""
        kept = {key: value for key, value in self.variables.items() if key in variables}
        attached = {path: text for path, text in self.source.attachments.items() if path in files}
        return replace(self.source, defaults=texts_of(self.defaults, kept), attachments=attached)


def variables_of(source: ModelSource) -> dict[str, object]:
    """The project's variables that are stored with a source."""
    return dict(json.loads(source.defaults.get(_VARIABLES, "{}")))


def texts_of(defaults: Defaults, variables: Mapping[str, object]) -> dict[str, str]:
    """Settings as they are stored with a model's source."""
    stored = {_VARIABLES: json.dumps(variables, sort_keys=True)} if variables else {}
    return {**defaults.as_texts(), **stored}


def without_values(
    source: ModelSource, variables: Collection[str], session: Collection[str]
) -> ModelSource:
    """A source without values that come from outside of the project, for what others may read.

    Args:
        source: The source.
        variables: The names of such variables.
        session: The names of such settings of Spark's session.
    """
    defaults, every = dict(source.defaults), variables_of(source)
    if hidden := sorted(every.keys() & set(variables)):
        kept = {key: value for key, value in every.items() if key not in hidden}
        defaults[_VARIABLES] = json.dumps(kept, sort_keys=True)
        defaults[_LEFT_OUT] = json.dumps(hidden)
    settings = session_of(defaults.get(SESSION, ""))
    if settings.keys() & set(session):
        shown = {key: None if key in session else value for key, value in settings.items()}
        defaults[SESSION] = json.dumps(shown)
    return replace(source, defaults=defaults)


def with_values(
    source: ModelSource, variables: Mapping[str, object], session: Mapping[str, str]
) -> ModelSource:
    """A source with the values that were left out by `without_values`.

    Args:
        source: The source.
        variables: The project's variables.
        session: Its settings of Spark's session that may change results.

    Raises:
        Refused: A variable or a setting has no value any more.
    """
    defaults = dict(source.defaults)
    names = [str(name) for name in json.loads(defaults.pop(_LEFT_OUT, "[]"))]
    settings = session_of(defaults.get(SESSION, ""))
    hidden = [key for key, value in settings.items() if value is None]
    lost = [*sorted({*names} - variables.keys()), *sorted({*hidden} - session.keys())]
    if lost:
        raise Refused(
            f"{source.path} was planned with {', '.join(lost)}, which is no longer among "
            "the variables and Spark settings in vde.yaml, or has Spark's default",
            advice="Set it there again, or make a new plan.",
        )
    if names:
        every = {**variables_of(source), **{name: variables[name] for name in names}}
        defaults[_VARIABLES] = json.dumps(every, sort_keys=True)
    if hidden:
        defaults[SESSION] = json.dumps(settings | {key: session[key] for key in hidden})
    return replace(source, defaults=defaults)


def session_of(text: str) -> dict[str, str | None]:
    """The settings in `Defaults.session`; None of those whose value was left out."""
    found: dict[str, str | None] = json.loads(text) if text else {}
    return found
