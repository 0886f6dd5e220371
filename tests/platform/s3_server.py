"""Storage that speaks S3, on this machine: moto's server, which keeps all of it in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyarrow import fs

from tests.dagster_server import free_port
from tests.platform.canaries import canary
from tests.platform.processes import environment_for_stories
from tests.platform.programs import LOOPBACK, running

REGION: Final = "us-east-1"
BUCKET: Final = "lake"


@dataclass(frozen=True)
class Keys:
    """What a request has to be signed with. Each part is a text that stands nowhere else."""

    key: str = field(default_factory=canary)
    secret: str = field(default_factory=canary)
    token: str = field(default_factory=canary)


@dataclass(frozen=True)
class Storage:
    """A server with one bucket. It answers nobody who has other keys."""

    port: int
    keys: Keys

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"http://{LOOPBACK}:{self.port}"

    def files(self, keys: Keys | None = None) -> Any:
        """What is in it, as pyarrow's file system; with other keys, if they are given."""
        own = keys or self.keys
        return fs.S3FileSystem(
            access_key=own.key,
            secret_key=own.secret,
            session_token=own.token,
            endpoint_override=f"{LOOPBACK}:{self.port}",
            scheme="http",
            region=REGION,
            allow_bucket_creation=True,
        )

    def contents(self) -> dict[str, bytes]:
        """All of its files, by their paths."""
        files = self.files()
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
    port, keys = free_port(), Keys()
    command = [sys.executable, "-m", "tests.platform.signed_s3", str(port)]
    right = {
        "VDE_TEST_S3_KEY": keys.key,
        "VDE_TEST_S3_SECRET": keys.secret,
        "VDE_TEST_S3_TOKEN": keys.token,
    }
    with running(command, folder / "s3.log", environment_for_stories(right)) as program:
        program.wait_until_it_answers(port)
        storage = Storage(port, keys)
        storage.files().create_dir(BUCKET)
        yield storage
