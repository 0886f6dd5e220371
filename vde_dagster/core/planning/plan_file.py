"""A plan as a file: what was reviewed, to be applied later, perhaps by another person.

The file holds all of the plan, with the text of every model, and no path, address or setting of the
machine that it was made on. Why each model changes is in it as fields, and as sentences for people,
which are not read. Its token is the revision of the environment (docs/inside/architecture.md). A
digest over everything finds that the file was edited or damaged; it is not a signature, since
a person who can write the file can also write a digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from vde_dagster.core.codec import Codec
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.json_forms import NotPlain, Plain
from vde_dagster.core.listing import some
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.reason_values import sentences
from vde_dagster.core.planning.plan import ModelChange, Plan, Staleness
from vde_dagster.core.time.intervals import common, subtract

FORMAT: Final = "vde plan"
FORMAT_VERSION: Final = 2
"""The version of the file's shape. Raise it when what a field means changes."""

CODEC: Final = Codec(left_out={Plan: ("graph",)})
"""How plans are written; who reads one gives its graph."""

_AGAIN: Final = "Save the plan again: `vde plan ENV --save FILE`."
_SNAPSHOTS: Final = Mapping[ModelName, ModelSnapshot]
_FINGERPRINTS: Final = Mapping[ModelName, str]


class PlanFileInvalid(Refused):
    """A file is not a plan that can be applied; the text says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlan:
    """What a file of a plan says, whole and unedited, its models not read yet.

    ``fingerprints`` are the digests of those of the graph that was reviewed. ``release`` is the one
    that wrote the file, ``project`` the name of the project.
    """

    project: str
    release: str
    snapshots: Mapping[ModelName, ModelSnapshot]
    fingerprints: Mapping[ModelName, str]
    _plan: Plain

    def plan(self, graph: Graph) -> Plan:
        """The plan, with its models as a graph.

        Args:
            graph: The models of ``snapshots``.

        Raises:
            PlanFileInvalid: They are not the models that were reviewed.
        """
        found = _digests(graph)
        if found != dict(self.fingerprints):
            raise PlanFileInvalid(_changed(self, found))
        return cast("Plan", _decoded(Plan, self._plan, graph=graph))


def write_plan(plan: Plan, *, project: str, release: str) -> str:
    """The text of a file with a plan; it is the same for the same plan.

    Args:
        plan: The plan.
        project: The name of the project that it is of.
        release: The release of this package.
    """
    content: dict[str, Plain] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "release": release,
        "project": project,
        "reasons": {str(each.name): list(sentences(each.reasons)) for each in plan.changes},
        "fingerprints": CODEC.write(_FINGERPRINTS, _digests(plan.graph)),
        "plan": CODEC.write(Plan, plan),
    }
    whole = {"format": FORMAT, "digest": _digest(content), **content}
    return json.dumps(whole, indent=1) + "\n"


def read_plan(text: str, *, name: str) -> SavedPlan:
    """What a file of a plan says.

    Args:
        text: The content of the file.
        name: What messages call the file.

    Raises:
        PlanFileInvalid: It is not a plan file, it is damaged or edited, or of another format.
    """
    content = _content(text, name)
    written = content.pop("digest", None)
    if written != _digest(content):
        raise PlanFileInvalid(
            f"{name} was edited or damaged after it was saved: its digest differs. A plan is "
            "applied exactly as reviewed, or not at all",
            advice=_AGAIN,
        )
    match content:
        case {"project": str(project), "release": str(release), "plan": dict(plan)}:
            return SavedPlan(
                project=project,
                release=release,
                snapshots=cast(
                    "Mapping[ModelName, ModelSnapshot]",
                    _decoded(_SNAPSHOTS, plan.get("snapshots")),
                ),
                fingerprints=cast(
                    "Mapping[ModelName, str]",
                    _decoded(_FINGERPRINTS, content.get("fingerprints")),
                ),
                _plan=plan,
            )
        case _:
            raise PlanFileInvalid(f"{name} lacks the plan or its project", advice=_AGAIN)


def is_plan_file(text: str) -> bool:
    """Whether a text was once written by `write_plan`, whatever became of it since."""
    return text.lstrip().startswith(f'{{\n "format": "{FORMAT}"')


def _content(text: str, name: str) -> dict[str, Plain]:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        if is_plan_file(text):
            raise PlanFileInvalid(
                f"{name} is truncated or damaged: {error}", advice=_AGAIN
            ) from error
        raise PlanFileInvalid(
            f"{name} is not a saved plan: it is not valid JSON ({error})", advice=_AGAIN
        ) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise PlanFileInvalid(
            f"{name} is JSON, but not a saved plan. The document of `vde plan --format json` "
            "describes a plan and cannot be applied",
            advice=_AGAIN,
        )
    version = found.get("format_version")
    if version != FORMAT_VERSION:
        raise PlanFileInvalid(
            f"{name} has format version {version} and was saved by release {found.get('release')}; "
            f"this release reads version {FORMAT_VERSION}",
            advice="Apply it with the release that saved it, or save the plan again.",
        )
    return cast("dict[str, Plain]", found)


def _digest(content: Mapping[str, Plain]) -> str:
    """A hash of everything, however it is laid out."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=32).hexdigest()


def _digests(graph: Graph) -> dict[ModelName, str]:
    return {node.name: node.fingerprint.digest for node in graph}


def _decoded(kind: object, plain: object, **given: object) -> object:
    try:
        return CODEC.read(kind, plain, **given)
    except NotPlain as error:
        raise PlanFileInvalid(f"the saved plan cannot be read: {error}", advice=_AGAIN) from error


def _changed(saved: SavedPlan, found: Mapping[ModelName, str]) -> str:
    names = sorted({*found, *saved.fingerprints})
    other = [str(name) for name in names if found.get(name) != saved.fingerprints.get(name)]
    return (
        f"{some(other, _LISTED)}: the saved plan would not compute what was reviewed. Either "
        "another release of vde_dagster reads models differently (the plan was saved by "
        f"{saved.release}), or the outside value of a variable or a Spark setting in vde.yaml "
        "has changed. Nothing was written; plan again."
    )


_LISTED: Final = 5


def still_to_do(saved: Plan, current: Plan) -> Plan:
    """The reviewed plan, with no more of its intervals than are missing still.

    Intervals that were not reviewed are left to a later plan.

    Args:
        saved: What a person agreed to.
        current: The same models and options, planned again at the time of the reviewed plan.

    Raises:
        Conflict: The environment or what is stored changed since, so that something else would be
            done; the text says what.
    """
    moved = list(_moved(saved, current))
    if moved:
        raise Conflict("\n".join([*moved, "Nothing was written"]), advice=_saving(saved))
    known = {each.name: each for each in saved.changes}
    return replace(
        current,
        plan_id=saved.plan_id,
        options=saved.options,
        left_out=saved.left_out,
        changes=tuple(_narrowed(known[each.name], each) for each in current.changes),
    )


def nothing_left(saved: Plan) -> Plan:
    """The reviewed plan once it is applied: it names what it is about, and has nothing to do."""
    return replace(
        saved,
        changes=tuple(
            replace(e, missing=(), restated=(), behind=None, staleness=None) for e in saved.changes
        ),
        promotes=False,
        views=(),
        removed=(),
        dropped_views=(),
        lost_tables=(),
        dropped_tables=(),
        unfinished=(),
    )


def refuse_moved(saved: Plan, revision: int) -> None:
    """Refuse a plan whose token does not hold any more (docs/inside/architecture.md).

    Raises:
        Conflict: The environment is at another revision than it was.
    """
    if revision != saved.base_revision:
        raise Conflict(
            f"{saved.environment} was changed since this plan was made: it is at revision "
            f"{revision}, but the plan was made at {saved.base_revision}. Nothing was written",
            advice=_saving(saved),
        )


def _saving(saved: Plan) -> str:
    words = " ".join(saved.command)
    return f"plan again, and save that plan: `vde {words} --save FILE`."


def _narrowed(known: ModelChange, current: ModelChange) -> ModelChange:
    return replace(
        current,
        category=known.category,
        reasons=known.reasons,
        missing=common(current.missing, known.to_evaluate),
        restated=common(current.restated, known.restated),
        staleness=_still_stale(known, current),
    )


def _still_stale(known: ModelChange, current: ModelChange) -> Staleness | None:
    """Staleness that the review saw and that remains; the rest is left to a later plan."""
    now, then = current.staleness, known.staleness
    if now is None or then is None or now.session != then.session:
        return None
    return replace(now, intervals=common(now.intervals, then.intervals))


def _moved(saved: Plan, current: Plan) -> Iterator[str]:
    """What a plan of now would do otherwise, for people."""
    environment = saved.environment
    if saved.base_revision != current.base_revision:
        yield (
            f"{environment} is at revision {current.base_revision}, the plan was made at "
            f"{saved.base_revision}."
        )
    other = [
        str(name)
        for name, each in saved.snapshots.items()
        if name not in current.snapshots or current.snapshots[name].version != each.version
    ]
    if other:
        yield f"{some(other, _LISTED)} would get another version than the reviewed one."
    if {each.name for each in saved.changes} != {each.name for each in current.changes}:
        yield f"{environment} shows other models than it did."
    elif saved.base_revision and (shown := _shown_otherwise(saved, current)):
        yield f"{environment} shows another version of {some(shown, _LISTED)} than it did."
    if saved.hidden != current.hidden:
        yield f"the models with a view in {environment} would differ from the reviewed ones."
    behind = [str(each.name) for each in current.changes if _is_further_behind(saved, each)]
    if behind:
        yield f"inputs of {some(behind, _LISTED)} have changed since."
    if current.promotes and not saved.promotes:
        yield f"views of {environment} would change, but the reviewed plan changes none."


def _is_further_behind(saved: Plan, change: ModelChange) -> bool:
    """Whether more of a version that comes back is behind than was reviewed (rule R15)."""
    if change.behind is None or not change.behind.has_times:
        return False
    known = next((each for each in saved.changes if each.name == change.name), None)
    if known is None or known.behind is None:
        return True
    if change.catches_up:
        return not known.catches_up
    return bool(subtract(change.behind.intervals, known.to_evaluate + known.behind.lost))


def _shown_otherwise(saved: Plan, current: Plan) -> list[str]:
    before = {each.name: each.previous_version for each in saved.changes}
    return [
        str(each.name) for each in current.changes if each.previous_version != before[each.name]
    ]
