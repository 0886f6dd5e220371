"""Faults of the machine and of services that are expected to happen: what each is, and what to do.

Errors of libraries are classified here by type, number and text, so that neither Python tracebacks
nor Java stacks are needed to act on them. Whatever is not in the table is a bug. Nothing of an
error's own text is repeated except hosts with ports, and names of files: it may hold credentials.
"""

from __future__ import annotations

import errno
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from vde_dagster.core.names import TableName, model_of

_SAFE: Final = "Published data is unchanged, and the next run finishes or reverts the rest"
_OTHERS_SAFE: Final = "All other files are unchanged, and no run repairs this automatically"
_DEPTH: Final = 20
"""How many causes of an error are looked at."""


class Fault(Enum):
    """The sorts of faults, each with what happened and what to do next."""

    JVM_GONE = (
        (
            "Spark's Java process died while working; most often the operating system killed it "
            "for lack of memory"
        ),
        (
            "Run the same command again. If it dies again, give the machine more memory, or "
            "write smaller batches (`batch_size`)."
        ),
    )
    JVM_MEMORY = (
        "Spark's Java process has no memory left",
        (
            "Raise `spark.driver.memory` under `spark.conf` in vde.yaml, or write smaller "
            "batches (`batch_size`), then run the same command again."
        ),
    )
    SPARK_ENDED = (
        "Spark ended this application: its master does not answer, or killed it",
        (
            "Check that the server in `spark.master` is up, then run the same command "
            "again; --debug shows its log."
        ),
    )
    DISK_FULL = (
        "a disk is full",
        (
            "Free space on the disks of the warehouse, the state, Dagster's home and Spark's "
            "scratch folder (`spark.local.dir`), then run the same command again."
        ),
    )
    DISK_ERROR = (
        "the disk of the catalog's, the state's or Dagster's database is full, or does not work",
        "Free space on it, or fix it, then run the same command again.",
    )
    NO_ANSWER = (
        "a service does not answer",
        (
            "Check that the catalog, the state, the storage and the Spark Connect server in "
            "vde.yaml are up and reachable from here, with the right host and port. Then run "
            "the same command again."
        ),
    )
    NOT_ALLOWED = (
        "a service refused the credentials",
        (
            "Check that the credentials of the catalog and of the storage are set and permit "
            "this, then run the same command again."
        ),
    )
    NO_PERMISSION = (
        "this user has no permission to read or write a file or folder",
        (
            "Allow this user to read and write the project's folder, the state and the "
            "warehouse, then run the same command again."
        ),
    )
    LOCKED = (
        "another process kept the database of the catalog or of the state locked",
        "Run the same command again once it has finished.",
    )
    NOT_INSTALLED = (
        "a package that this catalog needs is not installed",
        (
            "Install pyiceberg's extra for it, such as `pip install 'pyiceberg[sql-postgres]'`, or "
            "write another `type` under `catalog.properties` in vde.yaml."
        ),
    )
    METADATA_GONE = (
        "a metadata file of a table or view is missing in storage",
        (
            "Restore it, for example from a backup. If it is lost, drop the table from the "
            "catalog (how-to/fix-damage in the docs shows how): `vde run ENV` rebuilds it, or "
            "reports why it cannot. It recreates a view automatically; in object storage the "
            "next promotion does."
        ),
    )
    FILE_GONE = (
        "a data file is missing in storage",
        "Restore it, or compute its rows again: `vde repair MODEL` prints the restatement command.",
    )

    def __init__(self, what: str, advice: str) -> None:
        self.what = what
        self.advice = advice


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFault:
    """A fault with the host or the file that it is about; empty where none is known."""

    fault: Fault
    detail: str = ""

    @property
    def message(self) -> str:
        """What happened and what is safe, for people; it ends without a full stop."""
        about = f" ({self.detail})" if self.detail else ""
        return f"{self.fault.what}{about}. {_OTHERS_SAFE if self.fault in _FILES else _SAFE}"

    @property
    def advice(self) -> str:
        """What to do next, for people."""
        name = _model_of_file(self.detail) if self.fault is Fault.FILE_GONE else ""
        return self.fault.advice.replace("MODEL", name) if name else self.fault.advice


def fault_of(error: BaseException) -> FoundFault | None:
    """The fault that an error or one of its causes stands for; None where it stands for none."""
    links = list(_chain(error))
    for each in links:
        for fault in Fault:
            if _is(fault, each):
                return FoundFault(fault=fault, detail=_detail(fault, links))
    return None


def lost_java(error: BaseException) -> bool:
    """Whether the client of the JVM found it missing, whatever an error says in its text.

    A user's own function may raise anything, and say of its own connections what py4j says of Java.
    """
    return any(
        (each.in_java_bridge and each.is_connection)
        or (each.package, each.name) in _TYPES[Fault.JVM_GONE]
        for each in _chain(error)
    )


@dataclass(frozen=True, slots=True)
class _Link:
    """One error of a chain: its type's name and package, its text, and what else tells of it."""

    name: str
    package: str
    text: str
    number: int | None
    file: str
    in_java_bridge: bool
    is_connection: bool


def _chain(error: BaseException) -> Iterator[_Link]:
    """An error and its causes, the outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen and len(seen) < _DEPTH:
        seen.add(id(current))
        yield _link(current)
        original = getattr(current, "orig", None)  # SQLAlchemy's name for the driver's error
        following = original if isinstance(original, BaseException) else None
        current = following or current.__cause__ or current.__context__


def _link(error: BaseException) -> _Link:
    return _Link(
        type(error).__name__,
        type(error).__module__.partition(".")[0],
        str(error),
        error.errno if isinstance(error, OSError) else None,
        str(getattr(error, "filename", None) or ""),
        _in_java_bridge(error),
        isinstance(error, ConnectionError | TimeoutError | EOFError),
    )


def _in_java_bridge(error: BaseException) -> bool:
    """Whether an error was raised by what talks to the JVM."""
    trace = error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).startswith("py4j."):
            return True
        trace = trace.tb_next
    return False


_GONE: Final = re.compile(
    r"FAILED_READ_FILE\.FILE_NOT_EXIST|\bNotFoundException: |Failed to open input stream for "
    r"file|Failed to open local file|Cannot open file, does not exist"
)
_FILES: Final = frozenset({Fault.METADATA_GONE, Fault.FILE_GONE})

_TEXTS: Final[dict[Fault, re.Pattern[str]]] = {
    Fault.JVM_GONE: re.compile(r"Answer from Java side is empty|Error while (?:sending|receiving)"),
    Fault.JVM_MEMORY: re.compile(r"java\.lang\.OutOfMemoryError"),
    Fault.SPARK_ENDED: re.compile(
        r"Cannot call methods on a stopped SparkContext|SparkContext (?:was|has been) shut ?down"
    ),
    Fault.DISK_FULL: re.compile(
        r"No space left on device|database or disk is full|Disk quota exceeded"
    ),
    Fault.DISK_ERROR: re.compile(r"disk I/O error|SQLITE_IOERR"),
    Fault.NO_ANSWER: re.compile(
        r"[Cc]onnection refused|[Cc]onnection timed out|could not translate host name|"
        r"[Nn]ame or service not known|server closed the connection|failed to resolve host|"
        r"AWS Error NETWORK_CONNECTION|UnknownHostException|Could not connect to (?:the endpoint|"
        r"server)|StatusCode\.UNAVAILABLE|INVALID_HANDLE\.SESSION_"
    ),
    Fault.NOT_ALLOWED: re.compile(
        r"AWS Error ACCESS_DENIED|password authentication failed|NotAuthorizedException: |"
        r"ForbiddenException: |\(Service: S3, Status Code: 40[13]\b"
    ),
    Fault.LOCKED: re.compile(r"database is locked|SQLITE_BUSY"),
    Fault.METADATA_GONE: _GONE,
    Fault.FILE_GONE: _GONE,
}
"""What errors say whose type alone tells too little, in whichever library they were raised."""

_TYPES: Final[dict[Fault, frozenset[tuple[str, str]]]] = {
    Fault.JVM_GONE: frozenset({("py4j", "Py4JNetworkError")}),
    Fault.NO_ANSWER: frozenset(
        {
            ("requests", "ConnectionError"),
            ("requests", "ConnectTimeout"),
            ("requests", "ReadTimeout"),
            ("pyiceberg", "ServiceUnavailableError"),
            ("pyiceberg", "ServerError"),
            ("pyiceberg", "TooManyRequestsError"),
            ("socket", "gaierror"),
        }
    ),
    Fault.NOT_ALLOWED: frozenset(
        {
            ("pyiceberg", "UnauthorizedError"),
            ("pyiceberg", "ForbiddenError"),
            ("pyiceberg", "OAuthError"),
        }
    ),
    Fault.NOT_INSTALLED: frozenset({("pyiceberg", "NotInstalledError")}),
}

_NUMBERS: Final[dict[Fault, frozenset[int]]] = {
    Fault.DISK_FULL: frozenset({errno.ENOSPC, errno.EDQUOT}),
    Fault.NO_PERMISSION: frozenset({errno.EACCES, errno.EPERM, errno.EROFS}),
}


def _is(fault: Fault, link: _Link) -> bool:
    """Whether one error of a chain stands for a fault."""
    if fault is Fault.JVM_GONE and link.in_java_bridge and link.is_connection:
        return True
    if fault is Fault.NO_ANSWER and link.is_connection and link.package == "builtins":
        return link.name != "EOFError" and not link.in_java_bridge
    if fault in _FILES and link.number not in (None, errno.ENOENT):
        return False  # it is there, and cannot be opened
    if fault is Fault.METADATA_GONE and _METADATA.search(link.text) is None:
        return False
    found = _TEXTS.get(fault)
    return (
        (link.package, link.name) in _TYPES.get(fault, ())
        or link.number in _NUMBERS.get(fault, ())
        or (found is not None and found.search(link.text) is not None)
    )


_HOSTS: Final = (
    re.compile(r"host='([^']+)', port=(\d+)"),
    re.compile(r'at "([^"]+)"(?: \([^)]*\))?, port (\d+)'),
    re.compile(r'host "?([^",\s]+)"?,? port:? (\d+)'),
)
_PATH: Final = r"(?:file:|s3a?://|gs://|abfss?://)?/[^\s'\"()]+"
_FILE: Final = re.compile(rf"{_PATH}\.(?:parquet|orc|avro)")
_METADATA: Final = re.compile(rf"{_PATH}/metadata/[^\s'\"()/]+\.(?:json|avro|stats|puffin)")
"""Where Iceberg writes a table's or view's metadata, the lists of its files, and statistics."""


def _detail(fault: Fault, links: list[_Link]) -> str:
    """The host and port or the file that a fault is about; empty where none is known."""
    for text, file in ((each.text, each.file) for each in links):
        match fault:
            case Fault.NO_PERMISSION if file:
                return file
            case Fault.NO_ANSWER:
                for pattern in _HOSTS:
                    if found := pattern.search(text):
                        return f"{found[1]}:{found[2]}"
            case Fault.METADATA_GONE | Fault.FILE_GONE:
                files = _FILE if fault is Fault.FILE_GONE else _METADATA
                if found := files.search(text):
                    return found[0]
            case _:
                continue
    return ""


def repair_of(path: str) -> str:
    """The command that says what is wrong with the version that a file is of, in a text.

    Args:
        path: The file's path, or a text that has it.
    """
    return f"`vde repair {_model_of_file(path) or 'MODEL'}`"


def _model_of_file(path: str) -> str:
    """The model whose version has a data file, by its folder; empty if it has no version."""
    folders = path.split("/")
    for namespace, name in itertools.pairwise(folders):
        model = model_of(TableName(namespace.removesuffix(".db"), name))
        if model is not None:
            return str(model)
    return ""
