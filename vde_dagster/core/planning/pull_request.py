"""A pull request of a project: what its environment has, and the summary that reviewers read.

The environment of a request is built from its files, beside the one that the request is for. What
is approved is the plan of its promotion, as it was saved then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from vde_dagster.core.codec import Codec
from vde_dagster.core.errors import Refused
from vde_dagster.core.json_forms import NotPlain, Plain
from vde_dagster.core.listing import first, plural
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_markdown import escaped, plan_markdown
from vde_dagster.core.planning.plan_text import MOST, listed

_CODEC: Final = Codec()
_ENVIRONMENT: Final = "pr_{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltRows:
    """What building a request's environment computed of one model: how many intervals and rows.

    ``intervals`` is None of a kind without intervals, ``rows`` of a view.
    """

    model: str
    intervals: int | None
    rows: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRows:
    """The rows of one model in both environments, as the state records them.

    ``before`` and ``after`` are how many; None where an environment lacks the model or it is a
    view. ``said`` says whether the rows differ, and in which intervals.
    """

    model: str
    before: int | None
    after: int | None
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnbuiltModel:
    """A model of a request that lacks what another environment fills (rule R9).

    ``environment`` is that one, ``command`` is the command that fills it there, and ``is_shown``
    says whether it shows the version. All three are empty where the model waits for another one of
    these models. ``why`` is for people.
    """

    model: str
    why: str
    environment: str = ""
    command: str = ""
    is_shown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """What became of a pull request so far.

    ``tests`` are how many unit tests passed; None where none were run. ``failure`` says why the
    environment is not built; it is empty where it is. ``waits`` are models that only another
    environment can build: then it is not built either.
    """

    environment: str
    target: str
    tests: int | None = None
    failure: str = ""
    built: tuple[BuiltRows, ...] = field(default=())
    waits: tuple[UnbuiltModel, ...] = field(default=())

    @property
    def is_built(self) -> bool:
        """Whether the environment shows the files of the request, so that it may be promoted."""
        return not (self.failure or self.waits)


def request_environment(request: str) -> str:
    """The environment's name for a pull request, such as ``pr_42``; not in its canonical form."""
    return _ENVIRONMENT.format(request)


def planning_again(environment: str) -> str:
    """The command that tests, builds and plans a pull request, in a text; by its environment."""
    number = environment.removeprefix(_ENVIRONMENT.format(""))
    return f"`vde ci plan {number}`"


def refuse_unbuilt(request: PullRequest) -> None:
    """Refuse to call a request built whose models wait for another environment.

    Raises:
        Refused: Some do; the text names them, and what fills them.
    """
    if not request.waits:
        return
    count = len(request.waits)
    waits = "wait" if count > 1 else "waits"
    opening = (
        f"{plural(count, 'model')} of {request.environment} {waits} for work that only another "
        "environment may do, so their rows have not been reviewed:"
    )
    lines = [f"- {each.model}: {each.why}" for each in request.waits]
    text = [
        opening,
        *first(lines, MOST, "- and {:,} more"),
        f"Nothing is promoted to {request.target}.",
    ]
    raise Refused("\n".join(text), advice=_mending(request))


def _mending(request: PullRequest) -> str:
    """What to do about models that wait for another environment."""
    first = [each for each in request.waits if each.command]
    commands = " and ".join(f"`{each}`" for each in dict.fromkeys(e.command for e in first))
    unshown = [each for each in first if not each.is_shown]
    stamped = listed(tuple(each.model for each in unshown))
    names = ", ".join(dict.fromkeys(each.environment for each in unshown))
    other = (
        f", so that {names} shows these files. Or write another `stamp` in {stamped}, which "
        f"{request.environment} then computes as a separate version"
        if unshown
        else ""
    )
    again = planning_again(request.environment)
    return f"Compute it there, with {commands}{other}. Then run {again} again."


def write_request(request: PullRequest) -> Plain:
    """A request's record as plain JSON."""
    return _CODEC.write(PullRequest, request)


def read_request(content: Plain, *, name: str, environment: str) -> PullRequest:
    """A request's record from plain JSON.

    Args:
        content: What `write_request` gave.
        name: How messages name the file.
        environment: That of the request.

    Raises:
        Refused: It is something else.
    """
    try:
        return _CODEC.read(PullRequest, content)
    except NotPlain as error:
        raise Refused(
            f"{name} is not a record of a pull request: {error}",
            advice=f"Run {planning_again(environment)} again.",
        ) from error


def request_markdown(
    request: PullRequest, promotion: Plan | None, rows: Sequence[ComparedRows]
) -> str:
    """The summary of a request for its reviewers.

    Args:
        request: What became of it.
        promotion: The plan that promotes it; None where its environment is not built.
        rows: The models whose tables differ.
    """
    parts = [[f"## {escaped(_title(request))}"], [*_facts(request)], [*_failure(request)]]
    if promotion is not None:
        parts.append([plan_markdown(promotion).rstrip("\n")])
    parts.append([*_rows(request, rows)])
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _title(request: PullRequest) -> str:
    if request.is_built:
        return f"{request.environment} is built and can be promoted to {request.target}"
    return f"{request.environment} is not built"


def _facts(request: PullRequest) -> Iterator[str]:
    if request.tests is not None:
        yield f"- Unit tests: {request.tests:,} passed."
    if request.built:
        rows = sum(each.rows or 0 for each in request.built)
        models = len(request.built)
        yield (
            f"- Computed in {escaped(request.environment)}: {rows:,} rows in "
            f"{plural(models, 'model')}."
        )
    elif request.is_built:
        yield f"- Computed in {escaped(request.environment)}: nothing."


def _failure(request: PullRequest) -> Iterator[str]:
    if request.is_built:
        return
    longest = max(map(len, re.findall("`+", request.failure)), default=0)
    fence = "`" * max(3, longest + 1)  # longer than any in the text
    yield fence
    yield request.failure
    yield fence


def _rows(request: PullRequest, rows: Sequence[ComparedRows]) -> Iterator[str]:
    if not rows:
        return
    yield "### Rows"
    yield ""
    yield f"| model | in {escaped(request.target)} | in {escaped(request.environment)} | |"
    yield "| --- | ---: | ---: | --- |"
    for each in rows[:MOST]:
        cells = [f"`{each.model}`", _count(each.before), _count(each.after), escaped(each.said)]
        yield f"| {' | '.join(cells)} |"
    if len(rows) > MOST:
        yield f"| and {len(rows) - MOST:,} more | | | |"


def _count(rows: int | None) -> str:
    return "" if rows is None else f"{rows:,}"
