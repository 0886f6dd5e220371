"""Errors as Dagster's failures: a fault is said as what it is, also with a secret in its text."""

from __future__ import annotations

import errno
import traceback

import dagster as dg
import pytest

from vde_dagster.orchestration.failures import HiddenError, failures, secrets_hidden
from vde_dagster.runtime.secrets import STARS, remember

SECRET = "canary-of-failures-7c1f2e9ab"


def full_disk(place: str) -> None:
    cause = OSError(errno.ENOSPC, f"No space left on device: {place}")
    raise RuntimeError("the catalog failed") from cause


@pytest.mark.parametrize("place", ["/data", f"s3://key:{SECRET}@bucket"])
def test_a_known_fault_is_said_with_its_advice_and_without_secrets(place: str) -> None:
    remember([SECRET])
    with pytest.raises(dg.Failure) as told, failures():
        full_disk(place)
    said = told.value.description or ""
    assert said.startswith("A disk is full. Published data is unchanged")
    assert "Free space on the disks of the warehouse" in said
    assert told.value.allow_retries
    assert SECRET not in "".join(traceback.format_exception(told.value))


def test_where_a_sensor_meets_a_fault_its_text_is_the_sentence() -> None:
    remember([SECRET])
    said = r"^A disk is full\. .* Free space"
    with pytest.raises(HiddenError, match=said) as told, secrets_hidden():
        full_disk(SECRET)
    assert SECRET not in "".join(traceback.format_exception(told.value))


def test_what_is_no_fault_keeps_its_own_text_with_stars() -> None:
    remember([SECRET])
    with pytest.raises(HiddenError) as told, failures():
        raise RuntimeError(f"token {SECRET} is unknown")
    assert str(told.value) == f"RuntimeError: token {STARS} is unknown"
    with pytest.raises(RuntimeError, match="as it is"), failures():
        raise RuntimeError("as it is")
