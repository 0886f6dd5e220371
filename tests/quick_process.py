"""What makes a process of many small tests quick: its files in memory, and a lazy collector."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

_MEMORY: Final = Path("/dev/shm")
_ENOUGH_BYTES: Final = 4 * 2**30


def keep_files_in_memory() -> None:
    """Tests commit thousands of times, and each commit waits for the disk.

    Nothing that they prove needs one: processes die in them, machines do not. Where there is no
    such folder, or little room in it, or somebody names another one, files are where they always
    are. Processes that this one starts take over what is set here.
    """
    if "TMPDIR" in os.environ or not _MEMORY.is_dir():
        return
    if shutil.disk_usage(_MEMORY).free >= _ENOUGH_BYTES:
        os.environ["TMPDIR"], tempfile.tempdir = str(_MEMORY), None


def collect_garbage_less_often() -> None:
    """What is loaded by now stays to the end: to look through it again took a tenth of all time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
