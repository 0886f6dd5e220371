"""Runs checks in order: one that fails stops only those that need it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from vde_dagster.core.doctor.results import CheckResult, broken, not_tried
from vde_dagster.core.errors import VdeError, as_sentence
from vde_dagster.core.faults import fault_of
from vde_dagster.runtime.secrets import without_secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One part to try.

    ``needs`` are the names of earlier checks. ``look`` tries the part; an exception means that it
    is broken. ``advice`` is what to do about an error that does not say it itself.
    """

    name: str
    look: Callable[[], CheckResult]
    advice: str
    needs: tuple[str, ...] = ()


def run_checks(
    checks: Iterable[Check], unexpected: Callable[[Exception], None]
) -> Iterator[CheckResult]:
    """Try each part, and say what came of it before the next one is tried.

    Args:
        checks: What a check needs comes before it.
        unexpected: Gets each error that neither is ours nor stands for a known fault.
    """
    usable: dict[str, bool] = {}
    for each in checks:
        lacking = [need for need in each.needs if not usable[need]]
        result = not_tried(each.name, lacking) if lacking else _looked(each, unexpected)
        usable[each.name] = result.usable
        yield result


def _looked(check: Check, unexpected: Callable[[Exception], None]) -> CheckResult:
    try:
        result = check.look()
    except VdeError as error:
        return broken(check.name, error.message, as_sentence(error.advice) or check.advice)
    except Exception as error:  # a check is an edge: whatever it meets is what it found
        found = fault_of(error)
        if found is None:
            unexpected(error)
            lines = without_secrets(str(error)).strip().splitlines()
            said = f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
            return broken(check.name, said, check.advice)
        about = f" ({without_secrets(found.detail)})" if found.detail else ""
        return broken(check.name, f"{found.fault.what}{about}", found.advice)
    return replace(
        result, message=without_secrets(result.message), advice=without_secrets(result.advice)
    )
