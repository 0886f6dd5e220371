"""A REST catalog's server whose answers are those of Iceberg's own library, in a JVM.

`CatalogHandlers` is what REST servers in Java answer with (Apache's fixture, Polaris, Gravitino,
Hive). Only HTTP is ours: it is that of `tests/worlds/rest_server.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from tests.worlds.rest_server import Json, RestServer
from tests.worlds.rest_views import NotDone
from vde_dagster.lakehouse.spark.jars import log_settings, resolve_jars, spark_home
from vde_dagster.lakehouse.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FROM_JAVA: Final = (Py4JJavaError, CapturedException)
"""An error of Java's, as it comes and as pyspark makes another one of it."""
_STATUS: Final = {
    "NoSuchNamespaceException": 404,
    "NoSuchTableException": 404,
    "NoSuchViewException": 404,
    "NoSuchIcebergTableException": 404,
    "AlreadyExistsException": 409,
    "CommitFailedException": 409,
    "NamespaceNotEmptyException": 409,
    "IllegalArgumentException": 400,
    "ValidationException": 400,
    "IllegalStateException": 400,
}
_JACKSON: Final = "org.apache.iceberg.shaded.com.fasterxml.jackson"
_REQUESTS: Final = "org.apache.iceberg.rest.requests"


def jvm_of(spark: SparkSession) -> Any:
    """The way into a session's JVM, which has Iceberg's library."""
    return spark.sparkContext._gateway


@contextmanager
def own_jvm() -> Iterator[Any]:
    """A JVM with Iceberg's library that ends with this process, and the way into it."""
    jars = spark_home() / "jars"
    (bridge,) = jars.glob("py4j-*.jar")
    port, token, process = launch_gateway(
        jarpath=str(bridge),
        classpath=os.pathsep.join([str(jars / "*"), *map(str, resolve_jars())]),
        javaopts=["-Xmx512m", f"-Dlog4j2.configurationFile={log_settings().as_uri()}"],
        java_path=str(find_java().executable),
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        yield gateway
    finally:
        gateway.close()
        process.kill()
        process.wait()


class JavaRestServer(RestServer):
    """A server over Iceberg's JdbcCatalog on SQLite.

    Args:
        folder: Where its data is.
        gateway: The way into the JVM that answers: `jvm_of` or `own_jvm`.
    """

    def __init__(self, folder: Path, gateway: Any) -> None:
        super().__init__(folder)
        self._gateway = gateway
        jvm = gateway.jvm
        settings = jvm.java.util.HashMap()
        for key, value in {
            "type": "jdbc",
            "uri": f"jdbc:sqlite:file:{folder}/java.db",
            "jdbc.schema-version": "V1",
            "warehouse": f"{folder}/warehouse",
        }.items():
            settings.put(key, value)
        configuration = jvm.org.apache.hadoop.conf.Configuration()
        util = jvm.org.apache.iceberg.CatalogUtil
        self._catalog = util.buildIcebergCatalog("server", settings, configuration)
        self._handlers = jvm.org.apache.iceberg.rest.CatalogHandlers
        modes = self._named("org.apache.iceberg.rest.RESTCatalogProperties$SnapshotMode")
        self._snapshots = modes.ALL
        self._mapper = self._new_mapper()

    def _new_mapper(self) -> Any:
        """What Iceberg's `RESTObjectMapper` is, which is not public."""
        jvm = self._gateway.jvm
        mapper = self._named(f"{_JACKSON}.databind.ObjectMapper")()
        visibility = self._named(f"{_JACKSON}.annotation.JsonAutoDetect$Visibility").ANY
        accessor = self._named(f"{_JACKSON}.annotation.PropertyAccessor").FIELD
        mapper.setVisibility(accessor, visibility)
        strategies = f"{_JACKSON}.databind.PropertyNamingStrategies$KebabCaseStrategy"
        mapper.setPropertyNamingStrategy(self._named(strategies)())
        unknown = self._named(f"{_JACKSON}.databind.DeserializationFeature")
        mapper.disable(unknown.FAIL_ON_UNKNOWN_PROPERTIES)
        jvm.org.apache.iceberg.rest.RESTSerializers.registerAll(mapper)
        return mapper

    def _named(self, name: str) -> Any:
        found = self._gateway.jvm
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def _answer(self, method: str, parts: list[str], body: Json) -> tuple[int, Json]:
        if parts == ["config"]:
            return super()._answer(method, parts, body)
        try:
            return self._handled(method, parts, body)
        except _FROM_JAVA as error:
            raised: Any = (
                error._origin if isinstance(error, CapturedException) else error.java_exception
            )
            name = str(raised.getClass().getSimpleName())
            raise NotDone(_STATUS.get(name, 500), f"{name}: {raised.getMessage()}") from error

    def _handled(self, method: str, parts: list[str], body: Json) -> tuple[int, Json]:
        handlers, catalog = self._handlers, self._catalog
        match [method, *parts]:
            case ["GET", "namespaces"]:
                root = self._namespace()
                return 200, self._json(handlers.listNamespaces(catalog, root))
            case ["POST", "namespaces"]:
                request = self._read("CreateNamespaceRequest", body)
                return 200, self._json(handlers.createNamespace(catalog, request))
            case ["GET" | "HEAD", "namespaces", name]:
                return 200, self._json(handlers.loadNamespace(catalog, self._namespace(name)))
            case [_, "namespaces", of, "tables" | "views" as sort, *rest]:
                return self._handle(method, of, sort.capitalize().removesuffix("s"), rest, body)
            case _:
                raise NotDone(404, f"no such endpoint: {method} {parts}")

    def _handle(
        self, method: str, of: str, sort: str, parts: list[str], body: Json
    ) -> tuple[int, Json]:
        """Requests about a Table or a View, whose handlers have names of one form."""
        catalog, namespace = self._catalog, self._namespace(of)

        def handler(verb: str) -> Any:
            return getattr(self._handlers, f"{verb}{sort}")

        match [method, *parts]:
            case ["GET"]:
                listed = getattr(self._handlers, f"list{sort}s")(catalog, namespace)
                return 200, self._json(listed)
            case ["POST"]:
                request = self._read(f"Create{sort}Request", body)
                staged = sort == "Table" and request.stageCreate()
                create = self._handlers.stageTableCreate if staged else handler("create")
                return 200, self._json(create(catalog, namespace, request))
            case ["GET" | "HEAD", name]:
                more = (self._snapshots,) if sort == "Table" else ()
                found = handler("load")(catalog, self._identifier(of, name), *more)
                return 200, self._json(found)
            case ["POST", name]:
                request = self._read("UpdateTableRequest", body)
                found = handler("update")(catalog, self._identifier(of, name), request)
                return 200, self._json(found)
            case ["DELETE", name]:
                handler("drop")(catalog, self._identifier(of, name))
                return 204, {}
            case _:
                raise NotDone(404, f"no such endpoint: {method} {parts}")

    def _namespace(self, *parts: str) -> Any:
        names = self._gateway.new_array(self._gateway.jvm.java.lang.String, len(parts))
        for at, part in enumerate(parts):
            names[at] = part
        return self._gateway.jvm.org.apache.iceberg.catalog.Namespace.of(names)

    def _identifier(self, of: str, name: str) -> Any:
        identifiers = self._gateway.jvm.org.apache.iceberg.catalog.TableIdentifier
        return identifiers.of(self._namespace(of), name)

    def _read(self, kind: str, body: Json) -> Any:
        written = json.dumps({key: value for key, value in body.items() if key != "?"})
        wanted = self._gateway.jvm.java.lang.Class.forName(f"{_REQUESTS}.{kind}")
        return self._mapper.readValue(written, wanted)

    def _json(self, found: Any) -> Json:
        answer: Json = json.loads(self._mapper.writeValueAsString(found))
        return answer
