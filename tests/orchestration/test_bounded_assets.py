"""What begins later than its model, and is never promoted, says so on its asset and its events."""

from __future__ import annotations

import dagster as dg
import pytest

from tests.app.memory_world import DAILY, PROJECT
from tests.orchestration.launchpad import Launchpad, Make, shown

SINCE = {"apply": True, "start": "2024-01-02"}
BOUNDED = "bounded from 2024-01-02, and never promoted"
KEPT = DAILY.replace("time_column day)", "time_column day, forward_only true)")


def specs(shop: Launchpad, environment: str) -> dict[str, dg.AssetSpec]:
    """The assets of a code location that is loaded now."""
    shop._locations.clear()
    assets = shop.definitions(environment).assets or ()
    found = [s for each in assets if isinstance(each, dg.AssetsDefinition) for s in each.specs]
    return {each.key.to_user_string(): each for each in found}


def bounds(shop: Launchpad, environment: str) -> dict[str, object]:
    """What the assets that have the tag say."""
    return {
        key: each.metadata["vde/bounded"]
        for key, each in specs(shop, environment).items()
        if each.tags.get("vde/bounded") == "true"
    }


@pytest.mark.full
def test_a_bounded_version_is_tagged_and_says_from_when_on_it_has_rows(make: Make) -> None:
    shop = make(PROJECT)
    shop.edit("daily", "SUM(amount)", "SUM(amount) * 2")
    assert bounds(shop, "dev") == {}
    result = shop.start("vde_plan", SINCE, environment="dev")
    said = {
        event.materialization.asset_key.to_user_string(): event.materialization.metadata.get(
            "vde/bounded"
        )
        for event in result.get_asset_materialization_events()
    }
    assert said == {
        "mart__dev/daily": None,  # its days are loaded one by one, and the first is left out
        "mart__dev/people": None,  # a view has no rows of its own
        "mart__dev/totals": dg.MetadataValue.text(BOUNDED),
    }
    assert bounds(shop, "dev") == {"mart__dev/totals": BOUNDED}
    assert bounds(shop, "prod") == {}
    shop.start("vde_plan", {"apply": True}, environment="dev")
    assert bounds(shop, "dev") == {}


def test_a_preview_of_a_forward_only_change_is_said_to_be_one(make: Make) -> None:
    shop = make({**PROJECT, "daily": KEPT})
    shop.edit("daily", "SUM(amount)", "SUM(amount) * 2")
    config = {"apply": True, "effective_from": "2024-01-02"}
    assert shown(shop.start("vde_plan", config, environment="dev"))["vde/applied"] is True
    preview = "preview from 2024-01-02, and never promoted"
    assert bounds(shop, "dev") == {"mart__dev/daily": preview}
