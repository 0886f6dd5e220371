"""As many pairs of two lists as there can be, where some of one fit several of the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


def matched(fitting: Sequence[Sequence[int]]) -> dict[int, int]:
    """A largest set of pairs: which place of the right list each place of the left one has.

    Args:
        fitting: For each place of the left list, the places of the right one that fit it.

    Each is in at most one pair. Places without a partner are left out. Where rows may equal several
    others (a partly expected row, a float within a tolerance), taking the first that fits would
    leave over rows for which there is a partner.
    """
    right: dict[int, int] = {}
    for at in range(len(fitting)):
        _take(at, fitting, right)
    return {at: to for to, at in right.items()}


def _take(start: int, fitting: Sequence[Sequence[int]], right: dict[int, int]) -> None:
    """Give one more place of the left list a partner, moving others on if that helps.

    It is Hungarian search: breadth first along places that are taken, until one is free.
    """
    came_from: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        for to in fitting[at]:
            if to in came_from:
                continue
            came_from[to] = at
            if to in right:
                waiting.append(right[to])
                continue
            _move_along(to, start, came_from, right)
            return


def _move_along(free: int, start: int, came_from: dict[int, int], right: dict[int, int]) -> None:
    """Take a free place, and give each of those on the way the place of the next one."""
    partners = {at: to for to, at in right.items()}
    to = free
    while True:
        at = came_from[to]
        before = partners.get(at)
        right[to] = at
        if at == start:
            return
        assert before is not None, "a row that is moved had a partner"
        to = before
