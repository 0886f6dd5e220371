"""A Dagster server that a test has started: what it answers, and its end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final

DEADLINE_SECONDS: Final = 240
"""How long a server may take until its code locations are loaded."""

_LOCATIONS: Final = """{ workspaceOrError { ... on Workspace { locationEntries {
  name loadStatus locationOrLoadError { __typename ... on PythonError { message } } } } } }"""


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End the group, and wait until nothing of it is left."""
    for way, seconds in ((signal.SIGINT, 10), (signal.SIGKILL, 20)):
        if not group(process.pid):
            break
        os.killpg(process.pid, way)
        until = time.monotonic() + seconds
        while time.monotonic() < until and group(process.pid):
            process.poll()
            time.sleep(0.2)
    process.wait(timeout=600)
    assert group(process.pid) == []


def group(leader: int) -> list[int]:
    """The processes of a session that are alive."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            text = (each / "stat").read_text() if each.name.isdigit() else ""
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        if len(fields) > 3 and leader in (int(fields[2]), int(fields[3])) and fields[0] != "Z":
            found.append(int(each.name))
    return found


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def ask(address: str, query: str) -> dict[str, Any]:
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        found: dict[str, Any] = json.load(answer)
    assert not found.get("errors"), found
    data: dict[str, Any] = found["data"]
    return data


def until_loaded(address: str, process: subprocess.Popen[bytes], log: Path) -> set[str]:
    until = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        try:
            entries = ask(address, _LOCATIONS)["workspaceOrError"]["locationEntries"]
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.5)
            continue
        if entries and all(each["loadStatus"] == "LOADED" for each in entries):
            wrong = [
                each["locationOrLoadError"]
                for each in entries
                if each["locationOrLoadError"]["__typename"] == "PythonError"
            ]
            assert not wrong, wrong
            return {each["name"] for each in entries}
        time.sleep(0.5)
    raise AssertionError(f"not loaded in {DEADLINE_SECONDS} s: {log.read_text()}")
