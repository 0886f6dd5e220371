"""What is a fault of the machine or of a service, and what is a bug; nothing secret is repeated."""

from __future__ import annotations

import errno

import pytest
from py4j.protocol import Py4JNetworkError
from pyiceberg.exceptions import (
    ForbiddenError,
    NotInstalledError,
    OAuthError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
)
from pyspark.errors import PySparkException
from requests.exceptions import ConnectionError as NoConnection
from sqlalchemy.exc import OperationalError

from vde_dagster.core.faults import Fault, FoundFault, fault_of, lost_java

FILE = "file:/w/vde__mart/mart__sales__0123456789abcdef0123456789abcdef/data/a.parquet"
METADATA = FILE.replace("data/a.parquet", "metadata/00002-a.metadata.json")
LIST = FILE.replace("data/a.parquet", "metadata/snap-1-0-a.avro")
REST = "org.apache.iceberg.exceptions"
POOL = "HTTPConnectionPool(host='127.0.0.1', port=9): Max retries exceeded with url: /v1?token=se"
REFUSED = 'connection to server at "127.0.0.1", port 9 failed: Connection refused\n\tIs the server'


def caused(outer: Exception, cause: Exception) -> Exception:
    outer.__cause__ = cause
    return outer


@pytest.mark.parametrize(
    "error,fault,detail",
    [
        (OSError(errno.ENOSPC, "No space left on device", "/w/a"), Fault.DISK_FULL, ""),
        (OperationalError("x", {}, Exception("database or disk is full")), Fault.DISK_FULL, ""),
        (PySparkException("java.io.IOException: No space left on device"), Fault.DISK_FULL, ""),
        (caused(ValueError("a"), OSError(errno.EDQUOT, "full")), Fault.DISK_FULL, ""),
        (OperationalError("x", {}, Exception("disk I/O error")), Fault.DISK_ERROR, ""),
        (
            PySparkException(
                "java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext."
            ),
            Fault.SPARK_ENDED,
            "",
        ),
        (NoConnection(POOL), Fault.NO_ANSWER, "127.0.0.1:9"),
        (OperationalError("x", {}, Exception(REFUSED)), Fault.NO_ANSWER, "127.0.0.1:9"),
        (ConnectionRefusedError(111, "Connection refused"), Fault.NO_ANSWER, ""),
        (ServiceUnavailableError("503"), Fault.NO_ANSWER, ""),
        (PySparkException("status = StatusCode.UNAVAILABLE"), Fault.NO_ANSWER, ""),
        (PySparkException("[INVALID_HANDLE.SESSION_CLOSED] ..."), Fault.NO_ANSWER, ""),
        (ServerError("500"), Fault.NO_ANSWER, ""),
        (TooManyRequestsError("429"), Fault.NO_ANSWER, ""),
        (ForbiddenError("no"), Fault.NOT_ALLOWED, ""),
        (OAuthError("invalid_client"), Fault.NOT_ALLOWED, ""),
        (PySparkException(f"{REST}.NotAuthorizedException: no"), Fault.NOT_ALLOWED, ""),
        (PySparkException("S3Exception: (Service: S3, Status Code: 403, "), Fault.NOT_ALLOWED, ""),
        (NotInstalledError("pip"), Fault.NOT_INSTALLED, ""),
        (PermissionError(errno.EACCES, "denied", "/w/a"), Fault.NO_PERMISSION, "/w/a"),
        (OperationalError("x", {}, Exception("database is locked")), Fault.LOCKED, ""),
        (PySparkException("java.lang.OutOfMemoryError: Java heap"), Fault.JVM_MEMORY, ""),
        (PySparkException(f"[FAILED_READ_FILE.FILE_NOT_EXIST] {FILE}"), Fault.FILE_GONE, FILE),
        (FileNotFoundError(2, f"Failed to open local file '{FILE}'"), Fault.FILE_GONE, FILE),
        (PySparkException(f"{REST}.NotFoundException: {METADATA}"), Fault.METADATA_GONE, METADATA),
        (FileNotFoundError(2, f"Failed to open local file '{LIST}'"), Fault.METADATA_GONE, LIST),
    ],
)
def test_faults_are_known_by_type_number_or_text_in_any_cause(
    error: Exception, fault: Fault, detail: str
) -> None:
    assert fault_of(error) == FoundFault(fault=fault, detail=detail)
    assert "token" not in FoundFault(fault=fault, detail=detail).message


@pytest.mark.parametrize(
    "error",
    [
        *(ValueError("a"), KeyError("b"), FileNotFoundError(2, "no such file"), EOFError()),
        PySparkException("java.lang.ClassNotFoundException: org.nope.Kryo"),
        OSError(errno.EMFILE, f"Failed to open local file '{FILE}'. Detail: Too many open files"),
    ],
)
def test_what_is_not_in_the_table_is_a_bug(error: Exception) -> None:
    assert fault_of(error) is None


def test_what_talks_to_java_says_that_it_is_gone_and_no_text_of_others() -> None:
    gone = Py4JNetworkError("Answer from Java side is empty")
    assert lost_java(gone)
    assert lost_java(caused(ValueError("no rows"), gone))
    mail = ConnectionError("Error while sending the mail: Answer from Java side is empty")
    assert not lost_java(mail)
    assert not lost_java(caused(RuntimeError("Error while receiving"), mail))


def test_a_circle_of_causes_ends() -> None:
    one, other = ValueError("a"), ValueError("b")
    one.__cause__, other.__cause__ = other, one
    assert fault_of(one) is None


@pytest.mark.parametrize("fault", Fault)
def test_each_fault_says_what_happened_what_is_safe_and_what_to_do(fault: Fault) -> None:
    found = FoundFault(fault=fault)
    assert ("Published data is unchanged" in found.message) != (
        "no run repairs this automatically" in found.message
    )
    assert found.advice.endswith((".", ")"))
    assert found.advice[0].isupper()


def test_a_missing_file_names_the_model_whose_restatement_mends_it() -> None:
    assert "`vde repair mart.sales`" in FoundFault(fault=Fault.FILE_GONE, detail=FILE).advice
    other = FoundFault(fault=Fault.FILE_GONE, detail="/elsewhere/raw/a.parquet")
    assert "`vde repair MODEL`" in other.advice
