"""Storage that speaks S3, on this machine: moto's server, which keeps all of it in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyarrow import fs

from tests.dagster_server import free_port
from tests.platform.processes import environment_for_stories
from tests.platform.programs import LOOPBACK, running

REGION: Final = "us-east-1"
BUCKET: Final = "lake"


@dataclass(frozen=True)
class Storage:
    """A server with one bucket. Its answers do not depend on the keys."""

    port: int

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def files(self) -> Any:
        """What is in it, as pyarrow's file system."""
        return fs.S3FileSystem(
            access_key="of-the-test",
            secret_key="of-the-test",
            endpoint_override=f"{LOOPBACK}:{self.port}",
            scheme="http",
            region=REGION,
            allow_bucket_creation=True,
        )

    def contents(self) -> dict[str, bytes]:
        """All of its files, by their paths."""
        files = self.files
        chosen = fs.FileSelector(BUCKET, recursive=True)
        found: dict[str, bytes] = {}
        for each in files.get_file_info(chosen):
            if each.is_file:
                with files.open_input_stream(each.path) as stream:
                    found[each.path] = stream.read()
        return found


@contextmanager
def s3_server(folder: Path) -> Iterator[Storage]:
    """A server with an empty bucket, while it runs."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(port)]
    with running(command, folder / "s3.log", environment_for_stories({})) as program:
        program.wait_until_it_answers(port)
        storage = Storage(port)
        storage.files.create_dir(BUCKET)
        yield storage
