"""The steps of a history: values which mean something in every world."""

from __future__ import annotations

from dataclasses import dataclass

from tests.app.generated_models import Made


@dataclass(frozen=True, slots=True, kw_only=True)
class Land:
    """Rows arrive in a source, given as (hour, amount), or hours before the end where negative.

    Time goes on by ``hours`` for both sources, or for this one ``alone``. Rows ``again`` are some
    of those that are there, by their numbers.
    """

    source: str
    rows: tuple[tuple[float, int], ...]
    hours: int = 0
    alone: bool = False
    again: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Correct:
    """One row of a source gets another amount, or is gone where that is None."""

    source: str
    at: int
    amount: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hush:
    """All rows of some hours of a source are gone, but for its first one."""

    source: str
    begins: float
    hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidy:
    """A source is compacted, or forgets its earlier Iceberg snapshots."""

    source: str
    expires: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshape:
    """A source gets a column that nobody reads, or loses that; or it has lost one that models read
    while somebody plans and runs an environment; or it is dropped and created again."""

    source: str
    how: str
    environment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Somebody edits the project's files: the model of this number, in one of several ways."""

    model: int
    how: str
    chance: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Somebody gives a command, to which a fault may happen before or after a call of a port.

    ``other`` is a second environment, or the number of a model, where the command has one. A
    command of an environment that is not there is mostly one of another that is.
    ``meanwhile`` is what somebody else does in a sleep. Where it is ``typed``, it goes through the
    entry of `vde`, if that has such a command and no other is at work at once. Only calls of the
    method ``strikes`` count for a fault, where there is one. A promotion that it does not end is
    not finished in the same step where it ``leaves`` that.
    """

    what: str
    environment: str
    other: str = ""
    model: int = 0
    cut_at: int = 0
    after: bool = False
    fault: str = "dies"
    meanwhile: Act | None = None
    typed: bool = False
    strikes: str = ""
    leaves: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What signals say from now on: all that is there has landed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """The clock of the machines jumps, or goes back a little where ``minutes`` are negative."""

    minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Meddle:
    """Another program does something to what an environment shows of a model."""

    environment: str
    model: int
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Heed:
    """Somebody reads the status of an environment, and does all that it advises."""

    environment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Dagster's daemon asks an environment's sensor, and does the runs that it wants."""

    environment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOnce:
    """Commands of several processes, whose calls of ports are mixed as a seed says."""

    acts: tuple[Act, ...]
    seed: int


Step = (
    Land
    | Correct
    | Hush
    | Tidy
    | Reshape
    | Edit
    | Signal
    | Jump
    | Meddle
    | Heed
    | Tick
    | Act
    | AtOnce
)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A project, and what happens to it."""

    models: tuple[Made, ...]
    steps: tuple[Step, ...]
