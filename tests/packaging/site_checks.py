"""What may be wrong with a built site that mkdocs does not see: HTML in pages, and other hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from os.path import normpath
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

REFERRING: Final = ("href", "src", "srcset", "data", "poster")
LOADED_LINKS: Final = frozenset({"stylesheet", "icon", "preload", "modulepreload", "manifest"})
_OF_STYLES: Final = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")]+)")


@dataclass
class Page(HTMLParser):
    """What a page refers to, and the anchors that it has."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    refers: list[tuple[str, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.anchors |= {given.get("id", ""), given.get("name", "")}
        loading = LOADED_LINKS.intersection(given.get("rel", "").split())
        loads = bool(loading) if tag == "link" else tag != "a"
        self.refers += [(given[key].split()[0], loads) for key in REFERRING if given.get(key)]


def wrong(site: Path) -> list[str]:
    """Each mistake, with its file; a page that the home page has no link to is one."""
    files = {path for path in site.rglob("*") if path.is_file()}
    pages = {path: Page(path) for path in sorted(files) if path.suffix == ".html"}
    found = [(path, text) for path in pages for text in _wrong_references(path, pages, files)]
    home = {site / normpath(urlsplit(url).path) for url, _ in pages[site / "index.html"].refers}
    found += [(path, "is not in the navigation") for path in pages.keys() - home]
    for path in site.rglob("*.css"):
        found += [(path, f"loads {url}") for url in _OF_STYLES.findall(path.read_text("utf-8"))]
    return [f"{path.relative_to(site)}: {text}" for path, text in found if path.name != "404.html"]


def _wrong_references(path: Path, pages: dict[Path, Page], files: set[Path]) -> Iterator[str]:
    for reference, loads in pages[path].refers:
        url = urlsplit(reference)
        target = Path(normpath(path.parent / unquote(url.path))) if url.path else path
        if url.scheme or url.netloc:
            yield from [f"loads {reference}"] if loads and url.scheme != "data" else []
        elif url.path.startswith("/") or target not in files:
            yield f"{reference} is not there"
        elif target in pages and unquote(url.fragment) not in pages[target].anchors:
            yield f"{reference} has no such anchor"
