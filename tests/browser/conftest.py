"""The project, its server and the browser; and what is kept of a page on which a scene failed."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.browser.server import served
from tests.browser.shop import Shop
from tests.browser.ui import Ui, browser_page


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory, chromium: Path) -> Shop:
    """The project, built in production and shared with dev; not built without a browser."""
    return Shop.build(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="session")
def address(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where `vde ui` serves the project."""
    with served(shop.folder, tmp_path_factory.mktemp("server") / "log") as found:
        yield found


@pytest.fixture
def ui(
    address: str, chromium: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Ui]:
    """The UI, in a new page."""
    with browser_page(chromium) as page:
        shown = Ui(page, address)
        request.node.stash[_SHOWN] = shown, tmp_path
        yield shown


_SHOWN: Final = pytest.StashKey[tuple[Ui, Path]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the picture and the text of the page on which a scene failed, and name the files."""
    report = yield
    if report.when == "call" and report.failed and _SHOWN in item.stash:
        kept = _keep(*item.stash[_SHOWN])
        report.sections.append(("the page", "\n".join(map(str, kept))))
    return report


def _keep(ui: Ui, folder: Path) -> list[Path]:
    picture, text = folder / "page.png", folder / "page.txt"
    ui.page.screenshot(path=picture)
    text.write_text(f"{ui.page.url}\n\n{ui.page.locator('body').inner_text()}\n", "utf-8")
    return [picture, text]
