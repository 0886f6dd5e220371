"""What a person does in Dagster's UI, by the texts and roles that a person finds things by.

Every action waits until what it needs is there, and every look until it is seen; nothing waits for
a length of time.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.sync_api import Locator, Page, expect, sync_playwright

SECONDS: Final = 60
"""How long a page may take to show what it has."""
RUN_SECONDS: Final = 300
"""How long a run may take, with the start of its process, of Java and of Spark."""
WIDTH: Final = 1500
HEIGHT: Final = 900

_ALIKE: Final = 3
_ENDED: Final = re.compile(r"^(Success|Failure|Canceled)$")


@contextmanager
def browser_page(program: Path) -> Iterator[Page]:
    """A page of an own browser without a window, 1500 by 900."""
    # Chromium refuses its sandbox to root, as whom containers run.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        try:
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.set_default_timeout(SECONDS * 1000)
            expect.set_options(timeout=SECONDS * 1000)
            yield page
        finally:
            browser.close()


@dataclass(frozen=True, slots=True)
class Ui:
    """Dagster's UI at an address, in one page of a browser."""

    page: Page
    address: str

    def open(self, path: str) -> None:
        """Open a page by its address."""
        self.page.goto(f"{self.address}/{path.lstrip('/')}")

    def open_asset(self, key: str, view: str = "overview") -> None:
        """Open the page of an asset, such as ``mart/revenue``."""
        self.open(f"assets/{key}?view={view}")
        self.see(self.page.get_by_role("tab", name="Overview").first)

    def open_tab(self, name: str) -> None:
        """Choose one of the tabs of a page."""
        self.page.get_by_role("tab", name=name).first.click()

    def sees(self, text: str | re.Pattern[str], *, seconds: float = SECONDS) -> None:
        """Wait until a text is seen."""
        exact = isinstance(text, str)
        self.see(self.page.get_by_text(text, exact=exact).first, seconds=seconds)

    def see(self, what: Locator, *, seconds: float = SECONDS) -> None:
        """Wait until something is seen."""
        expect(what).to_be_visible(timeout=seconds * 1000)

    def row(self, text: str) -> Locator:
        """The row of a table whose first cell has this text."""
        cell = self.page.get_by_role("cell", name=text, exact=True)
        return self.page.get_by_role("row").filter(has=cell).first

    def materialize(self) -> None:
        """Materialize the asset of the page that is open, and look at its run when it has ended.

        The asset has no partitions.
        """
        self.page.get_by_role("button", name="Materialize").first.click()
        notice = self.page.get_by_role("region", name=re.compile("Notifications"))
        notice.get_by_role("link", name="View").click()
        self.until_run_ends()

    def fill_launchpad(self, location: str, job: str, config: str) -> Locator:
        """Open the launchpad of a job and type its configuration; the button that launches it."""
        self.open(f"locations/{location}/jobs/{job}")
        self.open_tab("Launchpad")
        launch = self.page.get_by_role("button", name="Launch Run")
        self.see(launch)
        self.page.get_by_role("textbox").last.focus()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(config)
        expect(launch).to_be_enabled()
        return launch

    def launch(self, location: str, job: str, config: str) -> None:
        """Launch a job from its launchpad, and look at its run when it has ended."""
        self.fill_launchpad(location, job, config).click()
        self.until_run_ends()

    def until_run_ends(self) -> None:
        """Wait until the run that is shown has ended."""
        self.page.wait_for_url(re.compile("/runs/"))
        self.sees(_ENDED, seconds=RUN_SECONDS)

    def picture(self) -> bytes:
        """The page as a PNG, once it shows nothing in passing and three looks at it are alike."""
        self.page.mouse.move(0, HEIGHT - 1)
        notices = self.page.get_by_role("region", name=re.compile("Notifications"))
        expect(notices.get_by_role("listitem")).to_have_count(0)
        expect(self.page.get_by_text(re.compile("^Loading"))).to_have_count(0)
        until, looks = time.monotonic() + SECONDS, [self._look()]
        while len(looks) < _ALIKE or len(set(looks[-_ALIKE:])) > 1:
            assert time.monotonic() < until, f"{self.page.url} does not come to rest"
            looks.append(self._look())
        return looks[-1]

    def _look(self) -> bytes:
        return self.page.screenshot(animations="disabled", caret="hide")
