# ruff: noqa: E501 - rows of tables stay on one line
"""Inputs that nobody would give on purpose, by generator: a project and a command, from a seed.

Valid inputs (a project with a state, a saved plan, an exported state, arguments) are changed in
their structure, as texts, or as files of the file system. The same seed gives the same input.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path
from random import Random
from typing import Any, Final

import click
import yaml

from tests.project.fuzzed_files import (
    AUDITS,
    DEEP,
    EDITS,
    ENCODINGS,
    MACROS,
    ODD,
    PLAIN_AUDIT,
    SOFT,
    SOURCES,
    YAML,
    edited,
)
from vde_dagster.cli.commands import COMMANDS, vde

PLAN: Final = "plan.json"
STATE: Final = "state.jsonl"
FILES: Final = {
    "vde.yaml": YAML.replace("catalog: {name: lake, properties: {type: sql}}\n", "").replace(
        "clock: {valid_to: [raw.orders]}", "clock: wall"
    ),
    "external_models.yaml": SOURCES,
    "macros/m.py": MACROS,
    AUDITS: PLAIN_AUDIT,
    "signals/ready.py": (
        "from vde_dagster import signal\n\n@signal()\ndef ready(batch, least: int = 1):\n"
        "    return len(batch) >= least\n"
    ),
    "models/mart/counted.py": (
        "from vde_dagster import model\n\n@model('mart.counted', kind='FULL', "
        "depends_on=['mart.revenue'], columns={'n': 'bigint'})\ndef counted(context):\n"
        "    return context.spark.sql('SELECT 1 AS n')\n"
    ),
    "models/mart/daily.sql": (
        "MODEL (name mart.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column day, batch_size 3), "
        "signals (ready (least := 1)), audits (plain, not_null (columns := (id)))"
        ");\nSELECT id, @twice(amount) AS amount, day FROM raw.orders\n"
        "WHERE day BETWEEN @start_date AND @end_date\n"
    ),
}
"""What is added to the project of the template: each sort of file is there once."""
READING: Final = (
    "plan dev --no-apply", "plan dev --no-apply --format json", "status dev", "render mart.daily",
    "fingerprint", "lineage mart.revenue", "intervals", "format --check", "format", "audits",
    "test", "environments --format json", "diff dev prod", "ci status", "state check", "late",
    "janitor --dry-run", "create-external-models",
)  # fmt: skip
SETTINGS: Final = (
    "state.url", "catalog.properties.uri", "catalog.properties.warehouse", "catalog.name", "catalog.properties.type",
    "spark.remote", "spark.master", "name", "default_environment", "clock.valid_to", "environments.dev", "defaults.start",
    "defaults.cron",
)  # fmt: skip
_NOT_TRIED: Final = ("ui", "jars", "doctor", "init")
"""Commands that serve, download, start processes, or write elsewhere than in the project."""
VALUES: Final[tuple[object, ...]] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**70), 10**400, 1.5, -0.0, 1e308, float("nan"),
    float("inf"), "", " ", "x", "\x00", "\ud800", "\ufeff", "\u202e", "a\r\nb", "é" * 300, "../../x", "/", ".", "~", "${NOPE}",
    "2024-02-30", "9999-12-31", "0001-01-01T00:00:00+14:00", [], {}, [[]], {"": {}}, {"x": [None]}, ["x", 1, {}], "a.b.c.d",
)  # fmt: skip
ADDRESSES: Final = (
    "", ":", "//", "sqlite://", "sqlite:///", "sqlite:////", "sqlite:////dev/null", "sqlite:////dev/full", "sqlite:////proc/x/y.db", "sqlite:///.",
    "sqlite:///vde.yaml", "sqlite:///vde.yaml/x.db", "sqlite:///:memory:", "sqlite:///a?mode=ro", "sqlite:///file:x?uri=true&mode=ro", "sqlite:///" + "a" * 300,
    "postgresql://", "postgresql://h:x/y", "postgresql://127.0.0.1:1/x", "postgresql://[::1", "postgresql://127.0.0.1:99999/x",
    "postgresql://me:p@ss:w@127.0.0.1:1/x", "postgresql+nope://h/x", "oracle://h/x", "http://127.0.0.1:1", "http://[", "file:///", "ftp://x", "s3://",
    "jdbc:x", "\x00", "\ud800", "sqlite:///\x00", "sqlite:///%00", "sqlite:///%zz", "sqlite:///é\u202e.db", "${HOME}", "sc://", "sc://127.0.0.1:1", "1", "null",
)  # fmt: skip
RAW_YAML: Final = (
    "a: &a [1]\nb: *a\nc: *nope\n", "&a [*a]", "a: &a {b: *a}\n", "!!python/object:os.system x", "!!binary a", "!!set {a, a}", "!!int x", "!!timestamp x",
    "<<: 1", "<<: {name: x}\nname: y\n", "? [a]\n: b\n", "? {a: b}\n: c\n", "a: 1\n---\nb: 2\n", "%YAML 9.9\n---\na: 1", "\t- a", "a: b: c", "- a\nb: c",
    "name: x\nname: y\n", "{" * 5000, "[" * 900 + "]" * 900, "a: |\n" + "  x\n" * 9, "0x: 0o9", "1: 2\n1.0: 3\ntrue: 4\nnull: 5\n~: 6\n", "=", "name: !<", "- - - -",
    "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """An input: what is changed in the copy of a project, and the arguments of `vde`.

    ``what`` says it for people. ``file`` is the file that was changed, from the project; empty
    where only arguments were.
    """

    what: str
    arguments: Sequence[str]
    file: str = ""


def hostile(seed: int, folder: Path, only: str = "") -> Hostile:
    """Change the project in a folder, and say which command is to be run on it.

    Args:
        seed: Which of all changes.
        folder: A copy of the project, with `PLAN` and `STATE` in it.
        only: One of `SORTS`; any of them by default.
    """
    random = Random(seed)
    return SORTS[only or random.choice(sorted(SORTS))](random, folder)


def _project_file(random: Random, folder: Path) -> Hostile:
    name = random.choice(sorted(_names(folder)))
    path = folder / name
    what = _damaged(random, path)
    command = random.choice(READING)
    if path.suffix == ".yaml" and path.parent.name == "tests":
        command = random.choice(("test", "plan dev --no-apply"))
    return Hostile(what=what, file=name, arguments=command.split())


def _names(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_file() and not name.startswith(".") and name not in (PLAN, STATE):
            yield name


def _address(random: Random, folder: Path) -> Hostile:
    found = yaml.safe_load((folder / "vde.yaml").read_text())
    value = random.choice((*ADDRESSES, *VALUES))
    keys = random.choice(SETTINGS).split(".")
    _put(found, keys, value)
    if keys[:2] == ["catalog", "properties"]:
        found["catalog"]["properties"].setdefault(
            "type", random.choice(("sql", "sql", "in-memory"))
        )
    (folder / "vde.yaml").write_text(yaml.safe_dump(found), errors="surrogatepass")
    command = random.choice(READING)
    return Hostile(
        what=f"{'.'.join(keys)} = {value!r:.80}", file="vde.yaml", arguments=command.split()
    )


def _put(found: dict[str, Any], keys: Sequence[str], value: object) -> None:
    for key in keys[:-1]:
        if not isinstance(found.get(key), dict):
            found[key] = {}
        found = found[key]
    found[keys[-1]] = value


def _plan_file(random: Random, folder: Path) -> Hostile:
    path = folder / PLAN
    what = _damaged(random, path)
    if random.random() < 0.6 and path.is_file() and not path.is_symlink():
        what += signed_plan(path)
    return Hostile(what=what, file=PLAN, arguments=["apply", str(path)])


def signed_plan(path: Path) -> str:
    """The digest that fits the file, so that only what it says is wrong."""
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return ""
    if not isinstance(found, dict):
        return ""
    found.pop("digest", None)
    try:
        text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        return ""
    digest = blake2b(text.encode(), digest_size=32).hexdigest()
    whole = {"format": found.pop("format", None), "digest": digest, **found}
    path.write_text(json.dumps(whole, indent=1))
    return ", signed"


def _state_file(random: Random, folder: Path) -> Hostile:
    path = folder / STATE
    lines = path.read_bytes().splitlines(keepends=True)
    at = random.randrange(len(lines))
    if random.random() < 0.7:
        value = json.loads(lines[at])
        what = f"line {at + 1}: {_restructured(random, value)}"
        lines[at] = _json(value)
        if random.random() < 0.9:
            what += _signed_state(lines)
        path.write_bytes(b"".join(lines))
    else:
        what = _damaged(random, path)
    settings = folder / "vde.yaml"
    settings.write_text(settings.read_text() + "state: {url: 'sqlite:///imported.db'}\n")
    return Hostile(what=what, file=STATE, arguments=["state", "import", str(path)])


def _json(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _signed_state(lines: list[bytes]) -> str:
    counted = json.loads(lines[-1]).get("rows")
    rows: dict[str, int] = dict.fromkeys(counted if isinstance(counted, dict) else (), 0)
    for line in lines[1:-1]:
        row = json.loads(line)
        if isinstance(row, dict) and "table" in row:
            rows[str(row["table"])] = rows.get(str(row["table"]), 0) + 1
    digest = sha256(b"".join(lines[:-1])).hexdigest()
    lines[-1] = json.dumps({"rows": rows, "sha256": digest}).encode() + b"\n"
    return ", signed"


def _state_database(random: Random, folder: Path) -> Hostile:
    path = folder / ".vde" / "lake.db"
    what = _damaged(random, path)
    return Hostile(what=what, file=".vde/lake.db", arguments=random.choice(READING).split())


def _arguments(random: Random, folder: Path) -> Hostile:
    name = random.choice([each for each in COMMANDS if each not in _NOT_TRIED])
    command, words = vde.get_command(click.Context(vde), name), [name]
    assert command is not None
    while isinstance(command, click.Group):
        name = random.choice(sorted(command.commands))
        command = command.commands[name]
        words.append(name)
    for parameter in command.params:
        values = [_argument(random, parameter, folder) for _ in range(max(parameter.nargs, 1))]
        if isinstance(parameter, click.Option):
            if parameter.name == "folder" or (random.random() < 0.7 and not parameter.required):
                continue
            words.append(random.choice(parameter.opts))
            if parameter.is_flag:
                continue
            words += values
        elif parameter.required or random.random() < 0.8:
            words += values
    return Hostile(what="arguments", arguments=words)


def _argument(random: Random, parameter: click.Parameter, folder: Path) -> str:
    if isinstance(parameter.type, click.Choice) and random.random() < 0.8:
        return str(random.choice(list(parameter.type.choices)))
    if isinstance(parameter.type, click.IntRange) and random.random() < 0.5:
        return random.choice(("1", "2", "0", "-1", "9" * 30, "1e3", "٣"))
    known = (
        "dev", "prod", "mart.revenue", "mart.daily", "staging.orders", "raw.orders", "2024-01-01", "2024-01-02T00:00", "SELECT 1 AS a", "mart.revenue:breaking",
        str(folder / PLAN), str(folder), str(folder / "none" / "x"), str(folder / "vde.yaml"), "/dev/null", "/dev/full", "mart.*", "+mart.revenue+", "tag:x", "7 days", "1",
    )  # fmt: skip
    value = random.choice(
        random.choice((known, known, ODD, ADDRESSES, tuple(map(str, VALUES)), DEEP))
    )
    return value.replace("\x00", "").replace("\ud800", "\udcff")  # a process is given no other


SORTS: Final[dict[str, Callable[[Random, Path], Hostile]]] = {
    "files of a project": _project_file,
    "addresses and settings": _address,
    "saved plans": _plan_file,
    "exported states": _state_file,
    "the state's database": _state_database,
    "arguments": _arguments,
}


# Damage of any file
def _damaged(random: Random, path: Path) -> str:
    """Damage a file, and say how."""
    ways = [_as_text, _as_bytes, _as_other_file]
    if path.suffix in (".yaml", ".json"):
        ways += [_as_structure] * 4
    return random.choice(ways)(random, path)


def _as_text(random: Random, path: Path) -> str:
    text = path.read_bytes().decode("utf-8", "replace")
    pieces = random.choice((ODD, SOFT, DEEP, RAW_YAML if path.suffix == ".yaml" else ODD))
    if path.suffix == ".yaml" and random.random() < 0.2:
        path.write_text(random.choice(RAW_YAML), errors="surrogatepass")
        return "other YAML"
    numbers = (random.randrange(5000) for _ in range(8))
    edits = [
        (random.choice(EDITS), next(numbers), next(numbers), random.choice(pieces))
        for _ in range(random.choice((1, 1, 3)))
    ]
    path.write_bytes(edited(text, edits).encode("utf-8", "surrogatepass"))
    return f"edits {edits!r:.200}"


def _as_bytes(random: Random, path: Path) -> str:
    data = path.read_bytes()
    at = random.randrange(len(data) + 1)
    text = data.decode("utf-8", "replace")
    encoding = random.choice(ENCODINGS)
    what, written = random.choice(
        [
            ("nothing", b""),
            ("cut off", data[:at]),
            ("its end alone", data[at:]),
            ("noise", random.randbytes(random.choice((1, 100, 5000)))),
            ("noise inside", data[:at] + random.randbytes(3) + data[at:]),
            (encoding, text.encode(encoding, "replace")),
            ("CR LF", re.sub("\r?\n", "\r\n", text).encode()),
            ("CR", re.sub("\r?\n", "\r", text).encode()),
            ("a byte order mark twice", b"\xef\xbb\xbf" * 2 + data),
            ("NULs", b"\x00" * 4096),
            ("blanks", b" \n\t" * 1000),
            ("twice", data * 2),
            ("long line", data + b"x" * 2_000_000),
        ]
    )
    path.write_bytes(written)
    return f"as bytes: {what}"


def _as_other_file(random: Random, path: Path) -> str:
    """Something else of the file system in place of a file, or beside it."""
    what = random.choice(
        ("folder", "broken link", "loop", "pipe", "zeros", "full", "gone", "away", "odd name", "long name", "no leave", "parent")
    )  # fmt: skip
    data = path.read_bytes()
    match what:
        case "odd name":
            name = os.fsdecode(
                random.choice((b"\xff", b"a\nb", b"\xe2\x80\xaeb", b" ", b"-x", b"a'b", b"*"))
            )
            path.with_name(name + path.suffix).write_bytes(data)
            return f"{what} {name!r}"
        case "long name":
            path.with_name("n" * 240 + path.suffix).write_bytes(data)
            return what
        case "parent":
            path.with_name("loop").symlink_to(path.parent.resolve(), target_is_directory=True)
            return what
    path.unlink()
    match what:
        case "folder":
            path.mkdir()
        case "broken link":
            path.symlink_to("nowhere.db")
        case "loop":
            path.symlink_to(path.name)
        case "pipe":
            os.mkfifo(path)
        case "zeros":
            path.symlink_to("/dev/zero")
        case "full":
            path.symlink_to("/dev/full")
        case "away":
            path.symlink_to("/etc/hostname")
        case "no leave":
            path.write_bytes(data)
            path.chmod(0)
        case _:
            pass
    return f"{what} in its place"


def _as_structure(random: Random, path: Path) -> str:
    is_yaml = path.suffix == ".yaml"
    text = path.read_text("utf-8")
    value = yaml.safe_load(text) if is_yaml else json.loads(text)
    what = ", ".join(_restructured(random, value) for _ in range(random.choice((1, 1, 2))))
    if is_yaml:
        written = yaml.dump(value, allow_unicode=random.random() < 0.5)
    else:
        written = json.dumps(value, indent=1)
    path.write_bytes(written.encode("utf-8", "surrogatepass"))
    return what


def _restructured(random: Random, value: Any) -> str:  # noqa: PLR0911 - one for each way
    """Change one place of a document, and say which and how."""
    places = list(_places(value))
    if not places:
        return "nothing"
    holder, key, shown = random.choice(places)
    match random.choice(("other", "other", "other", "delete", "double", "deep", "swap", "edit")):
        case "delete":
            del holder[key]
            return f"{shown} deleted"
        case "double" if isinstance(holder, list):
            holder.append(holder[key])
            return f"{shown} twice"
        case "double":
            holder[f"{key}x"] = holder[key]
            return f"{shown} under another key"
        case "deep":
            for _ in range(random.choice((2, 50, 150))):
                holder[key] = random.choice(([holder[key]], {"x": holder[key]}))
            return f"{shown} deep"
        case "swap":
            other, where, to = random.choice(places)
            holder[key] = other[where] if not isinstance(other[where], dict | list) else None
            return f"{shown} = {to}"
        case "edit" if isinstance(holder[key], str):
            edit = (
                random.choice(EDITS),
                random.randrange(5000),
                random.randrange(5000),
                random.choice(ODD),
            )
            holder[key] = edited(holder[key], [edit])
            return f"{shown} edited {edit!r:.80}"
        case _:
            holder[key] = random.choice((*VALUES, *ADDRESSES[:3]))
            return f"{shown} = {holder[key]!r:.60}"


def _places(value: Any, shown: str = "") -> Iterator[tuple[Any, Any, str]]:
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, inner in pairs:
        yield value, key, f"{shown}.{key}"
        yield from _places(inner, f"{shown}.{key}")
