"""Moto's server for S3 behind a look at each request's keys: ``python -m ... PORT``.

Moto itself answers whoever asks. Here a request is answered only if it names the right key and
session token, and if its signature was made with the right secret (AWS Signature Version 4, of the
headers; parts of a body are not looked at).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final
from urllib.parse import quote, unquote

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import run_simple

KEY, SECRET, TOKEN = "VDE_TEST_S3_KEY", "VDE_TEST_S3_SECRET", "VDE_TEST_S3_TOKEN"
"""The environment variables that name what is right."""
_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_REFUSAL: Final = b"<Error><Code>InvalidAccessKeyId</Code><Message>other keys</Message></Error>"

Environment = dict[str, Any]
"""A request, as WSGI has it."""


def is_signed(request: Environment, key: str, secret: str, token: str) -> bool:
    """Whether a request has these keys.

    Args:
        request: As WSGI has it, with the unchanged address in ``REQUEST_URI``.
        key: Its public part.
        secret: What it is signed with.
        token: That of the session.
    """
    algorithm, _, rest = request.get("HTTP_AUTHORIZATION", "").partition(" ")
    parts = dict(each.strip().partition("=")[::2] for each in rest.split(","))
    named, _, scope = parts.get("Credential", "").partition("/")
    if algorithm != _ALGORITHM or named != key:
        return False
    if request.get("HTTP_X_AMZ_SECURITY_TOKEN") != token:
        return False
    signed = hashlib.sha256(_canonical(request, parts["SignedHeaders"]).encode()).hexdigest()
    text = "\n".join((_ALGORITHM, request["HTTP_X_AMZ_DATE"], scope, signed))
    made = _made_with(f"AWS4{secret}".encode(), *scope.split("/"))
    return hmac.compare_digest(_made_with(made, text).hex(), parts["Signature"])


def _made_with(key: bytes, *texts: str) -> bytes:
    for each in texts:
        key = hmac.new(key, each.encode(), hashlib.sha256).digest()
    return key


def _canonical(request: Environment, signed: str) -> str:
    path, _, query = request["REQUEST_URI"].partition("?")
    pairs = sorted(
        tuple(quote(unquote(part), safe="-_.~") for part in each.partition("=")[::2])
        for each in query.split("&")
        if each
    )
    headers = "".join(f"{each}:{_header(request, each)}\n" for each in signed.split(";"))
    return "\n".join(
        (
            request["REQUEST_METHOD"],
            quote(unquote(path), safe="/-_.~"),
            "&".join("=".join(each) for each in pairs),
            headers,
            signed,
            request["HTTP_X_AMZ_CONTENT_SHA256"],
        )
    )


def _header(request: Environment, name: str) -> str:
    variable = name.upper().replace("-", "_")
    bare = variable in ("CONTENT_TYPE", "CONTENT_LENGTH")
    return " ".join(str(request.get(variable if bare else f"HTTP_{variable}", "")).split())


def main(port: int) -> None:
    """Answer on a port of the loopback network until the process ends."""
    storage = DomainDispatcherApplication(create_backend_app)
    keys = tuple(os.environ[each] for each in (KEY, SECRET, TOKEN))

    def answer(request: Environment, start: Callable[..., Any]) -> Iterable[bytes]:
        if is_signed(request, *keys):
            return storage(request, start)  # type: ignore[no-any-return]
        start("403 Forbidden", [("Content-Type", "application/xml")])
        return [_REFUSAL]

    handler = MotoRequestHandler
    run_simple("127.0.0.1", port, answer, threaded=True, request_handler=handler)


if __name__ == "__main__":
    main(int(sys.argv[1]))
