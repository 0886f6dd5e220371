"""Methods of a state out of functions of one transaction each."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection

from vde_dagster.state.state_database import StateDatabase

P = ParamSpec("P")
T = TypeVar("T")


class InDatabase(Protocol):
    """What is kept in a database."""

    _database: StateDatabase


def reading(
    ask: Callable[Concatenate[Connection, P], T],
) -> Callable[Concatenate[InDatabase, P], T]:
    """A method that reads, of one consistent view of the state."""

    @wraps(ask)
    def method(state: InDatabase, /, *args: P.args, **named: P.kwargs) -> T:
        with state._database.read() as connection:  # noqa: SLF001 - a method of it
            return ask(connection, *args, **named)

    return method


def writing(
    do: Callable[Concatenate[Connection, P], T],
) -> Callable[Concatenate[InDatabase, P], T]:
    """A method that writes, all or nothing."""

    @wraps(do)
    def method(state: InDatabase, /, *args: P.args, **named: P.kwargs) -> T:
        with state._database.write() as connection:  # noqa: SLF001 - a method of it
            return do(connection, *args, **named)

    return method
