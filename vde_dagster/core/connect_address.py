"""The address of a Spark Connect server: ``sc://host:port/;name=value;name=value``.

Source: Spark's *Client Connection String for Spark Connect*. What pyspark cannot read is found
here, before any work and without repeating it: a parameter may be a token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlparse

_SCHEME: Final = "sc://"
_PORT: Final = 15002
_HOST: Final = re.compile(r"[\w.-]+|[0-9a-f:.]+(?:%[\w.-]+)?")
"""A name, or an address of either kind. It is shown, so nothing else may be taken for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectAddress:
    """Where a Spark Connect server listens; its text has none of the parameters."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> ConnectAddress:
        """Read an address.

        Raises:
            ValueError: It is none; the text says why.
        """
        if not text.startswith(_SCHEME):
            raise ValueError(f"it does not start with {_SCHEME}")
        try:
            parts = urlparse(f"http://{text.removeprefix(_SCHEME)}")
            host, port = parts.hostname, parts.port
        except ValueError:
            raise ValueError("its host or its port cannot be read") from None
        if parts.username is not None:
            raise ValueError("a user is a parameter, as in sc://host:port/;user_id=name")
        if not host:
            raise ValueError("it has no host")
        if _HOST.fullmatch(host) is None:  # such as one with parameters that no / divides from it
            raise ValueError("its host or its port cannot be read")
        if parts.path not in ("", "/") or parts.query or parts.fragment:
            raise ValueError("only parameters may follow its port, and a / in a value is %2F")
        if parts.params and any(each.count("=") != 1 for each in parts.params.split(";")):
            raise ValueError("a parameter is one name=value, and a = in a value is %3D")
        return cls(host=host, port=_PORT if port is None else port)
