"""Spark's settings of the catalog that pyiceberg's properties name, so that it is configured once.

Spark and pyiceberg call the same things by other names. What is known to mean the same in both is
translated; the rest is written in ``spark.conf`` as ``spark.sql.catalog.<name>...``.

For the embedded catalog nothing else is imported: Spark may be started by a thread of its own,
while another one imports SQLAlchemy, which two threads cannot begin at the same time.

Sources: Iceberg's documentation of its catalogs in Spark, of its JDBC catalog and of S3FileIO;
pyiceberg's of its catalogs and of FileIO.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode, urlsplit

from vde_dagster.core.errors import SetupError
from vde_dagster.lakehouse.catalogs.catalog_properties import CATALOG_PREFIX as _PREFIX
from vde_dagster.lakehouse.catalogs.catalog_properties import (
    OF_S3,
    OF_SIGNATURES,
    SAME_OVER_REST,
    first_of,
    kind_of,
    refuse_unknown,
    refuse_without_views,
)
from vde_dagster.lakehouse.spark.jars import (
    ICEBERG_AWS_BUNDLE,
    ICEBERG_SPARK_RUNTIME,
    POSTGRESQL_JDBC,
    SQLITE_JDBC,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

_S3_FILE_IO: Final = "org.apache.iceberg.aws.s3.S3FileIO"
_S3_SCHEMES: Final = ("s3", "s3a", "s3n")

_OF_POSTGRES: Final = {
    "application_name": "ApplicationName",
    "connect_timeout": "connectTimeout",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
}
"""Parameters of an address in libpq to those of the JDBC driver."""


def embedded_catalog_conf(name: str, database: Path, warehouse: Path) -> dict[str, str]:
    """Return Spark's settings of the embedded catalog: one SQLite file and a warehouse folder.

    Args:
        name: The catalog's name. It is a key in the file: pyiceberg must be given the same one.
        database: The SQLite file, absolute; its folder exists.
        warehouse: The folder of the tables, absolute.
    """
    return _settings(name, {**_sqlite(str(database)), "warehouse": str(warehouse)})


def spark_catalog_conf(
    name: str, properties: Mapping[str, str], given: Mapping[str, str]
) -> dict[str, str]:
    """Return Spark's settings of a catalog that is configured for pyiceberg.

    Where ``given`` says what the catalog is in Spark (``spark.sql.catalog.<name>``), it is taken as
    it is; else each setting in it wins over the one that is derived here.

    Args:
        name: The catalog's name in both.
        properties: pyiceberg's own: ``type``, ``uri``, ``warehouse`` and so on.
        given: Spark's own settings, as in ``spark.conf`` of vde.yaml.

    Raises:
        SetupError: There is nothing in Spark that is known to be the same catalog, or to mean the
            same as one of its properties.
    """
    own = f"{_PREFIX}{name}"
    if own in given:
        return {key: value for key, value in uncached(name).items() if key not in given}
    derived = _settings(name, _derived(name, properties))
    refuse_unknown(name, derived[f"{own}.type"], properties, given)
    return {key: value for key, value in derived.items() if key not in given}


def uncached(name: str) -> dict[str, str]:
    """Return the setting with which Spark keeps no table of a catalog.

    It would keep a loaded one and not see what pyiceberg or another process commits.
    """
    return {f"{_PREFIX}{name}.cache-enabled": "false"}


def needed_jars(conf: Mapping[str, str]) -> tuple[str, ...]:
    """Return the Maven coordinates that a session with these settings needs: the catalogs' drivers.

    Args:
        conf: Spark's settings, those of its catalogs among them.
    """
    of_catalogs = {key: value for key, value in conf.items() if key.startswith(_PREFIX)}
    values = of_catalogs.values()
    wanted = {
        SQLITE_JDBC: any(each.startswith("jdbc:sqlite:") for each in values),
        POSTGRESQL_JDBC: any(each.startswith("jdbc:postgresql:") for each in values),
        ICEBERG_AWS_BUNDLE: any(
            value == _S3_FILE_IO
            or (key.endswith(".rest.sigv4-enabled") and value.lower() == "true")
            for key, value in of_catalogs.items()
        ),
    }
    return (ICEBERG_SPARK_RUNTIME, *(each for each, is_wanted in wanted.items() if is_wanted))


def _settings(name: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Those of one catalog, under its name."""
    own = f"{_PREFIX}{name}"
    return {
        own: "org.apache.iceberg.spark.SparkCatalog",
        **{f"{own}.{key}": value for key, value in settings.items()},
        **uncached(name),
    }


def _derived(name: str, properties: Mapping[str, str]) -> dict[str, str]:
    kind = _kind(name, properties)
    uri = properties.get("uri", "")
    match kind:
        case "rest":
            found = {"type": "rest", "uri": uri, **_over_rest(properties)}
        case "sql":
            found = _sql(name, uri)
        case _:
            raise _unknown(name, f"its type is {kind}")
    warehouse = properties.get("warehouse")
    if warehouse:
        found["warehouse"] = _place(warehouse) if kind == "sql" else warehouse
    return found | _storage(properties)


def _kind(name: str, properties: Mapping[str, str]) -> str:
    refuse_without_views(name, properties)
    kind = kind_of(name, properties)
    if kind is None and "py-catalog-impl" in properties:
        raise _unknown(name, "it is created by py-catalog-impl")
    if kind is None:
        raise _unknown(name, "it has neither a type nor a uri that implies one")
    return kind


def _over_rest(properties: Mapping[str, str]) -> dict[str, str]:
    """The settings of a REST catalog beside its address."""
    found = {
        key: value
        for key, value in properties.items()
        if key in SAME_OVER_REST or key.startswith("header.")
    }
    if _is_true(properties, "rest.sigv4-enabled"):
        found |= first_of(properties, OF_SIGNATURES)
    return found


def _is_true(properties: Mapping[str, str], key: str) -> bool:
    return properties.get(key, "false").lower() == "true"


def _place(warehouse: str) -> str:
    """A folder as Spark has it where pyiceberg has its address, so that both write one text."""
    return warehouse.removeprefix("file://") if warehouse.startswith("file:///") else warehouse


def _storage(properties: Mapping[str, str]) -> dict[str, str]:
    """How files are reached in object storage. Elsewhere Iceberg chooses by their addresses."""
    in_s3 = urlsplit(properties.get("warehouse", "")).scheme in _S3_SCHEMES
    found = first_of(properties, OF_S3)
    if in_s3 or any(key.startswith("s3.") for key in properties):
        found["io-impl"] = _S3_FILE_IO
    if "s3.endpoint" in properties:  # a server of one's own has no host name for each bucket
        virtual = _is_true(properties, "s3.force-virtual-addressing")
        found["s3.path-style-access"] = str(not virtual).lower()
    return found


def _sql(name: str, uri: str) -> dict[str, str]:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(uri)
    except ArgumentError:
        raise _unknown(name, "its uri is not a database URL") from None
    match url.get_backend_name():
        case "sqlite":
            return _sqlite(url.database or "")
        case "postgresql":
            return _postgres(name, url)
        case other:
            raise _unknown(name, f"its database is {other}")


def _sqlite(database: str) -> dict[str, str]:
    # Writers wait up to 60 s for each other; readers never wait (WAL). IMMEDIATE takes the write
    # lock at the start of a transaction, where waiting is possible.
    pragmas = "journal_mode=WAL&busy_timeout=60000&transaction_mode=IMMEDIATE&synchronous=NORMAL"
    return _jdbc(f"jdbc:sqlite:file:{quote(database)}?{pragmas}")


def _postgres(name: str, url: URL) -> dict[str, str]:
    strange = sorted(url.query.keys() - _OF_POSTGRES.keys())
    if not url.host or strange:
        why = (
            f"the JDBC driver does not know its {', '.join(strange)}"
            if strange
            else "the JDBC driver needs a host and cannot use a Unix socket"
        )
        raise _unknown(name, why)
    host = f"[{url.host}]" if ":" in url.host else url.host
    place = host if url.port is None else f"{host}:{url.port}"
    query = urlencode({_OF_POSTGRES[key]: value for key, value in sorted(url.query.items())})
    found = _jdbc(
        f"jdbc:postgresql://{place}/{quote(url.database or '')}" + f"?{query}" * bool(query)
    )
    if url.username:
        found["jdbc.user"] = url.username
    if url.password:
        found["jdbc.password"] = url.password
    return found


def _jdbc(uri: str) -> dict[str, str]:
    # V1 is the first schema of the catalog's tables that has views.
    return {"type": "jdbc", "uri": uri, "jdbc.schema-version": "V1"}


def _unknown(name: str, why: str) -> SetupError:
    return SetupError(
        f"the Spark catalog {name!r} cannot be derived from pyiceberg's properties: {why}",
        advice=f"set {_PREFIX}{name} and its options in `spark.conf` of vde.yaml.",
    )
