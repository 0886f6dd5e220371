"""Commands in a text, as they can be copied from where the command line was started."""

from __future__ import annotations

from pathlib import Path

import pytest

from vde_dagster.cli.spelling import whole

SHOP = Path("shop")


@pytest.mark.parametrize(
    "text, said",
    [
        ("`vde run prod` computes it", "`vde run prod --project shop` computes it"),
        ("`vde plan 'a b'`", "`vde plan 'a b' --project shop`"),
        ("`vde run --project here`", "`vde run --project here`"),
        ("`vde run prod` wasn't it", "`vde run prod --project shop` wasn't it"),
        ("accepted: `vde run didn't help`", "accepted: `vde run didn't help`"),
        ('`vde say "no`, then `vde run`', '`vde say "no`, then `vde run --project shop`'),
        ("`vde x\\`", "`vde x\\`"),
    ],
)
def test_commands_name_the_project_and_what_is_none_stays(
    text: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VDE_RUN", raising=False)
    assert whole(text, SHOP) == said
