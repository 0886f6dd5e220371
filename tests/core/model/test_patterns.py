"""Which models a pattern means."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from vde_dagster.core.model.patterns import By, ModelPattern
from vde_dagster.core.names import ModelName

MODELS = {
    "mart.revenue": (("money", "Nightly"), "models/mart/revenue.sql"),
    "mart.best": ((), "models/mart/deep/best.py"),
    "raw_copy.orders": (("money",), "models/orders.sql"),
}


def meant(text: str) -> set[str]:
    pattern = ModelPattern.parse(text, catalog="Lake")
    assert pattern is not None
    return {
        name
        for name, (tags, path) in MODELS.items()
        if pattern.means(ModelName.parse(name), tags, PurePosixPath(path))
    }


@pytest.mark.parametrize(
    "text,expected",
    [
        ("mart.revenue", {"mart.revenue"}),
        ("lake.mart.revenue", {"mart.revenue"}),
        ("other.mart.revenue", set()),
        ("mart.*", {"mart.revenue", "mart.best"}),
        ("*.orders", {"raw_copy.orders"}),
        ("raw?copy.[no]*", {"raw_copy.orders"}),
        ("*", set(MODELS)),
        ("tag:money", {"mart.revenue", "raw_copy.orders"}),
        ("Tag: Night*", {"mart.revenue"}),
        ("tag:nightly", set()),
        ("path:models/mart/*", {"mart.revenue", "mart.best"}),
        ("path:*.py", {"mart.best"}),
        ("PATH:models/orders.sql", {"raw_copy.orders"}),
        ("path:Models/*", set()),
        ("path:mart/*", set()),
    ],
)
def test_a_pattern_means_these_models(text: str, expected: set[str]) -> None:
    assert meant(text) == expected


@pytest.mark.parametrize(
    "text", ["", " ", "tag:", "path: ", "git:main", "git:ma*", "a.b.c.d", "mart revenue", "+a"]
)
def test_what_is_no_pattern_means_nothing(text: str) -> None:
    assert ModelPattern.parse(text, catalog="lake") is None


def test_what_may_mean_several_models_is_known() -> None:
    texts = {
        "mart.*": True,
        "tag:a?": True,
        "path:[a]": True,
        "mart.revenue": False,
        "tag:a": False,
    }
    patterns = {text: ModelPattern.parse(text, catalog="lake") for text in texts}
    assert {text: each.is_wild for text, each in patterns.items() if each} == texts
    assert [each.by for each in patterns.values() if each] == [
        By.NAME,
        By.TAG,
        By.PATH,
        By.NAME,
        By.TAG,
    ]
