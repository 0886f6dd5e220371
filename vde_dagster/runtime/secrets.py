"""Secrets: a value that prints as stars, and texts without those that are known.

What this process was given as a secret is remembered, so that a text of another program (a driver's
error, a Java exception) can be shown without it: every error of ours is, see `core/errors.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote, unquote

STARS: Final = "*****"
"""What is shown in place of a secret."""

_SHORTEST: Final = 4
"""Anything shorter stands in too many texts that are not secrets."""
_LONG: Final = 8
"""From this length on, a secret is hidden wherever it appears; a shorter one as a whole word."""

_NAMES: Final = (
    r"secret|passw(?:or)?d|passphrase|token|credential|authorization|sas|connection[-_.]?string"
    r"|(?:access|account|api|private|encryption|shared|auth)[-_.]?key"
)
PATTERN: Final = f"(?i){_NAMES}"
"""What the name of a secret has in it; Java reads this as Python does."""
_SECRET: Final = re.compile(PATTERN)
_NO_SECRET: Final = re.compile(
    r"(?:provider|class|enabled|ur[il]|type|impl|-ms|location|path|file|dir|warehouse|endpoint"
    r"|region|name|host|port|master|regex)$",
    re.IGNORECASE,
)
_ADDRESS: Final = re.compile(r"://[^/:@]*:(.*)@", re.DOTALL)
_ADDRESS_IN_TEXT: Final = re.compile(r"(?<=://)([^\s'\"/:@]*):[^\s'\"]*(?=@)")
_OPTION: Final = re.compile(
    rf"(?<!\S)\"?-D([\w.-]*(?:{_NAMES})[\w.-]*)=\"?([^\s\"]+)", re.IGNORECASE
)
"""A Java option with a secret, such as ``-Dstore.password=x``, perhaps in quotes."""
_PARAMETER: Final = re.compile(
    rf"(?<=[?&;])([\w.-]*(?:{_NAMES})[\w.-]*=)([^\s&;'\",)]+)", re.IGNORECASE
)


class Secret:
    """A text that is printed as stars; `reveal` gives it to code that needs it.

    Args:
        text: The secret, or something that contains one, such as the address of a database.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the library that connects with it."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return STARS


class PrivateSettings(Mapping[str, str]):
    """Settings some of which are secrets: read like any mapping, printed as stars.

    Args:
        settings: The settings.
    """

    __slots__ = ("_settings",)

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = dict(settings or {})

    def __getitem__(self, key: str) -> str:
        return self._settings[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)

    def __repr__(self) -> str:
        return repr(dict.fromkeys(self._settings, STARS))


def secrets_of(settings: Mapping[str, str], outside: Iterable[str] = ()) -> Iterator[str]:
    """The secrets among settings, by what they are called and by what they look like.

    Args:
        settings: Such as pyiceberg's properties, or Spark's.
        outside: The settings whose value comes from an environment variable: each of these is a
            secret, too, unless its name says that it is a place.
    """
    from_environment = set(outside)
    for key, value in settings.items():
        yield from secrets_in(value)
        may_be = key in from_environment and _NO_SECRET.search(key) is None
        if (may_be or is_secret(key)) and value.lower() not in ("true", "false"):
            yield value
            yield from re.split(r"[\s:]+", value)


def is_secret(name: str) -> bool:
    """Whether a setting is a secret by its name."""
    return _SECRET.search(name) is not None and _NO_SECRET.search(name) is None


def secrets_in(address: str) -> Iterator[str]:
    """The passwords and tokens in an address, in its part of the user and in its parameters.

    Also those in Java's options.
    """
    yield from _ADDRESS.findall(address)
    for found in _PARAMETER.finditer(address):
        yield found.group(2)
    for found in _OPTION.finditer(address):
        if is_secret(found.group(1)):
            yield found.group(2)


def remember(secrets: Iterable[str]) -> None:
    """Hide these texts from now on, also as an address, JSON or Python writes them."""
    for each in secrets:
        _KNOWN.update(form for form in _forms(each) if len(form) >= _SHORTEST)


def _forms(secret: str) -> Iterator[str]:
    plain = unquote(secret)
    yield from (secret, plain, quote(secret, safe=""), quote(plain, safe=""))
    for each in {secret, plain}:
        yield from (json.dumps(each)[1:-1], json.dumps(each, ensure_ascii=False)[1:-1])
        yield repr(each)[1:-1]


def without_secrets(text: str) -> str:
    """A text in which stars stand for remembered secrets, and for the passwords of addresses."""
    for each in sorted(_KNOWN, key=len, reverse=True):
        if each in text:
            whole = re.escape(each)
            pattern = whole if len(each) >= _LONG else rf"(?<!\w){whole}(?!\w)"
            text = re.sub(pattern, STARS, text)
    if "://" in text:
        text = _ADDRESS_IN_TEXT.sub(rf"\1:{STARS}", text)
        text = _PARAMETER.sub(rf"\1{STARS}", text)
    return text


_KNOWN: Final[set[str]] = set()
