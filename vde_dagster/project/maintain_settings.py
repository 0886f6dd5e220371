"""What ``vde.yaml`` says about maintaining tables."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from vde_dagster.core.clean_up.upkeep import DEFAULT_UPKEEP, Upkeep
from vde_dagster.project.clean_up_settings import length
from vde_dagster.project.schedule_settings import SCHEDULE
from vde_dagster.project.yaml_document import Entry, Reader

_KEYS: Final = ("file_size", "orphans", SCHEDULE, "small_files", "snapshots")
_LEAST_AGE: Final = timedelta(hours=1)
_LEAST_FILES: Final = 2
_LEAST_SIZE: Final = 1_000_000
_SIZE: Final = re.compile(r"([0-9]{1,6}) ?(MB|GB)")
_UNITS: Final = {"MB": 1_000_000, "GB": 1_000_000_000}


def read_maintain(entry: Entry | None, reader: Reader) -> Upkeep:
    """When tables are maintained.

    Args:
        entry: What is written below ``maintain``.
        reader: Collects problems.
    """
    if entry is None:
        return DEFAULT_UPKEEP
    reader.known(entry, _KEYS, "maintain")
    written = entry.children
    return Upkeep(
        snapshots=length(written.get("snapshots"), DEFAULT_UPKEEP.snapshots, reader),
        orphans=_orphans(written.get("orphans"), reader),
        small_files=_small_files(written.get("small_files"), reader),
        file_size=_file_size(written.get("file_size"), reader),
    )


def _orphans(entry: Entry | None, reader: Reader) -> timedelta:
    found = length(entry, DEFAULT_UPKEEP.orphans, reader)
    if entry is not None and found < _LEAST_AGE:
        message = "orphans is less than an hour: files that are being written would be removed"
        reader.add(entry.place, message, "Write what every commit takes less than, as `3 days`.")
    return max(found, _LEAST_AGE)


def _small_files(entry: Entry | None, reader: Reader) -> int:
    text = reader.text(entry, str(DEFAULT_UPKEEP.small_files))
    if text.isascii() and text.isdigit() and len(text) < 7 and int(text) >= _LEAST_FILES:
        return int(text)
    if entry is not None:
        message = f"small_files is a number of files, at least {_LEAST_FILES}, and not {text!r}"
        reader.add(entry.place, message, f"Write it like `{DEFAULT_UPKEEP.small_files}`.")
    return DEFAULT_UPKEEP.small_files


def _file_size(entry: Entry | None, reader: Reader) -> int:
    text = reader.text(entry, "")
    if entry is None or not text:
        return DEFAULT_UPKEEP.file_size
    found = _SIZE.fullmatch(text)
    size = int(found[1]) * _UNITS[found[2]] if found is not None else 0
    if size >= _LEAST_SIZE:
        return size
    message = f"file_size is a number of MB or GB, and not {text!r}"
    reader.add(entry.place, message, "Write it like `128 MB`.")
    return DEFAULT_UPKEEP.file_size
