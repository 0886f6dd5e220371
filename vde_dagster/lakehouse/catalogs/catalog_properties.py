"""What properties of pyiceberg's catalogs mean to Spark, and which catalogs have no views.

Sources: pyiceberg's documentation and its constants (`pyiceberg.io`, `pyiceberg.catalog`), and the
property classes of Iceberg's Java library (`S3FileIOProperties`, `AwsClientProperties`,
`HttpClientProperties`, `AuthProperties`, `RESTCatalogProperties`).

Importing this module loads no pyiceberg.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from vde_dagster.core.errors import SetupError

CATALOG_PREFIX: Final = "spark.sql.catalog."
"""Spark's settings of its catalogs, by their names."""

OF_S3: Final = {
    "s3.endpoint": ("s3.endpoint",),
    "s3.access-key-id": ("s3.access-key-id", "client.access-key-id"),
    "s3.secret-access-key": ("s3.secret-access-key", "client.secret-access-key"),
    "s3.session-token": ("s3.session-token", "client.session-token"),
    "client.region": ("s3.region", "client.region"),
}
"""Names in Iceberg's Java library to those in pyiceberg, of which the first that is set counts."""

OF_SIGNATURES: Final = {
    "rest.signing-region": ("rest.signing-region", "client.region"),
    "rest.access-key-id": ("client.access-key-id",),
    "rest.secret-access-key": ("client.secret-access-key",),
    "rest.session-token": ("client.session-token",),
}
"""The same of a REST catalog whose requests are signed as those to AWS."""

SAME_OVER_REST: Final = (
    "audience",
    "credential",
    "namespace-separator",
    "oauth2-server-uri",
    "prefix",
    "resource",
    "rest-page-size",
    "rest.signing-name",
    "rest.signing-region",
    "rest.sigv4-enabled",
    "scan-planning-mode",
    "scope",
    "token",
    "view-endpoints-supported",
)
"""The settings of a REST catalog with the same names in both, beside ``header.*``."""

_OF_ALL: Final = frozenset({"type", "uri", "warehouse", "s3.force-virtual-addressing"})
_OF_PYICEBERG: Final = frozenset(
    {
        "downcast-ns-timestamp-to-us-on-write",
        "echo",
        "init_catalog_tables",
        "pool_pre_ping",
        "py-io-impl",
        "rest.sigv4.max-retries",
        "s3.connect-timeout",
        "s3.request-timeout",
        "s3.retry-strategy-impl",
        "schema_version",
        "snapshot-loading-mode",
    }
)
"""How pyiceberg itself works; Spark reads and writes the same without it."""

_BY_HAND: Final = {
    "adls.": "io-impl",
    "auth": "rest.auth.type",
    "client.profile-name": "client.credentials-provider",
    "client.role-arn": "client.factory",
    "client.role-session-name": "client.factory",
    "gcs.": "io-impl",
    "hdfs.": "io-impl",
    "hf.": "io-impl",
    "s3.anonymous": "client.credentials-provider",
    "s3.profile-name": "client.credentials-provider",
    "s3.proxy-uri": "http-client.proxy-endpoint",
    "s3.resolve-region": "s3.cross-region-access-enabled",
    "s3.role-arn": "client.factory",
    "s3.role-session-name": "client.factory",
    "s3.server-side-encryption": "s3.sse.type",
    "s3.signer": "s3.remote-signing-enabled",
    "s3.signer.": "s3.remote-signing-enabled",
    "s3.sse-kms-key-id": "s3.sse.key",
    "ssl": "rest.client.tls.configurer-impl",
}
"""What means something to Spark, too, but not by the same values: the setting to begin with there.

A name that ends with a dot stands for all that begin with it.
"""

ADDRESSES: Final = (
    "write `type: sql` with a `uri` such as postgresql+psycopg2://host/database or "
    "sqlite:////path/to/file.db, or `type: rest` with one such as https://host, under "
    "`catalog.properties` of vde.yaml. Without properties, the catalog is in the project's "
    "folder."
)
_OF_ADDRESSES: Final = frozenset({"MissingSchema", "InvalidSchema", "InvalidURL"})
"""What requests raises for an address that it cannot use."""
_NO_ADDRESS: Final = re.compile(
    r"Could not infer the catalog type from the uri|Could not parse SQLAlchemy URL|"
    r"Can't load plugin: sqlalchemy\.dialects"
)

_WITHOUT_VIEWS: Final = {
    "bigquery": "BigQuery Metastore",
    "dynamodb": "DynamoDB",
    "glue": "Glue",
    "hive": "Hive Metastore",
}
"""pyiceberg 0.12 raises `NotImplementedError` for views in these."""


def kind_of(name: str, properties: Mapping[str, str]) -> str | None:
    """The type of a catalog, as ``sql``, ``rest`` or ``glue``; None if nothing says it.

    Args:
        name: The catalog's name.
        properties: pyiceberg's own.
    """
    if named := properties.get("type"):
        return named.lower()
    if "py-catalog-impl" in properties:
        return None
    from pyiceberg.catalog import infer_catalog_type

    try:
        inferred = infer_catalog_type(name, dict(properties))
    except ValueError:
        return None
    return None if inferred is None else inferred.value


def wrong_address(error: str, text: str) -> str | None:
    """What is wrong with a catalog's address, as pyiceberg or what it uses has said.

    Args:
        error: The name of the error's type.
        text: What it says; nothing of that is repeated, since an address may have a password.
    """
    if text.startswith(("URI missing", "SQL connection URI is required")):
        return "it has no `uri`"
    if error in _OF_ADDRESSES or _NO_ADDRESS.match(text):
        return "its `uri` is not a catalog address"
    return None


def refuse_without_views(name: str, properties: Mapping[str, str]) -> None:
    """Refuse a catalog of a type that has no views in pyiceberg, before anybody is asked for it.

    Raises:
        SetupError: Its type is one of these.
    """
    service = _WITHOUT_VIEWS.get(kind_of(name, properties) or "")
    if service is not None:
        raise SetupError(
            f"the catalog {name!r} is in {service}, where pyiceberg has no views, which "
            "environments need",
            advice="set `type: rest` or `type: sql` under `catalog.properties` of vde.yaml; its "
            "tables can be in the same storage.",
        )


def first_of(properties: Mapping[str, str], names: Mapping[str, Collection[str]]) -> dict[str, str]:
    """The values of properties under other names, as from `OF_S3`."""
    found = {new: next((old for old in of if old in properties), None) for new, of in names.items()}
    return {new: properties[old] for new, old in found.items() if old is not None}


def refuse_unknown(
    name: str, kind: str, properties: Mapping[str, str], given: Collection[str]
) -> None:
    """Refuse properties of a catalog that Spark would not get, and may need.

    Args:
        name: The catalog's name.
        kind: Its type.
        properties: pyiceberg's own.
        given: The names of the settings that Spark is given beside them.

    Raises:
        SetupError: Nothing is known to mean the same in Spark, and ``given`` has nothing for it.
    """
    own = f"{CATALOG_PREFIX}{name}."
    left = [each for each in sorted(properties) if not _is_known(each, kind)]
    by_hand = {each: f"{own}{_setting_for(each) or each}" for each in left}
    missing = {each: setting for each, setting in by_hand.items() if setting not in given}
    if not missing:
        return
    there = sorted({each for key, each in missing.items() if _setting_for(key)})
    begin = f"set {' and '.join(there)} in `spark.conf` of vde.yaml"
    advice = (
        [f"{begin}, and anything else that Iceberg's Java library needs there."] if there else []
    )
    for each, setting in missing.items():
        if not _setting_for(each):
            advice.append(f"Remove `{each}`, or set {setting} in `spark.conf` if Spark knows it.")
    names = ", ".join(f"`{each}`" for each in missing)
    raise SetupError(
        f"the Spark catalog {name!r} cannot be derived from pyiceberg's properties: no Spark "
        f"setting is known for {names}",
        advice=" ".join(advice),
    )


def _is_known(key: str, kind: str) -> bool:
    over_rest = kind == "rest" and (key in SAME_OVER_REST or key.startswith("header."))
    in_s3 = any(key in names for names in OF_S3.values())
    return over_rest or in_s3 or key in _OF_ALL or key in _OF_PYICEBERG


def _setting_for(key: str) -> str | None:
    """Spark's setting to begin with for a property that is not translated."""
    prefixes = (each for each in _BY_HAND if each.endswith(".") and key.startswith(each))
    return _BY_HAND.get(key) or _BY_HAND.get(next(prefixes, ""))
