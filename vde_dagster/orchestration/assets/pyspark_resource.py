"""The project's Spark session as a resource, for users' own assets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster_pyspark import PySparkResource

from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


class VdePySparkResource(PySparkResource):
    """A `PySparkResource` over the project's catalog, started when it is first used.

    Args:
        project_folder: The folder of the project's ``vde.yaml``, which has the settings of Spark.
        settings: What `vde_dagster.build_definitions` was given besides, with environment variables
            by name: Dagster shows it.
        spark_config: Not used: Spark's settings are in ``vde.yaml``.
    """

    project_folder: str
    settings: dict[str, Any] = {}  # noqa: RUF012 - a field, which pydantic copies
    spark_config: dict[str, Any] = {}  # noqa: RUF012 - a field, which pydantic copies

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Start nothing: most steps need no Spark."""

    @property
    def spark_session(self) -> SparkSession:
        """The session of this process for users' assets; what they set in it reaches no model."""
        from vde_dagster.composition import VdeProject

        project = VdeProject.load(self.project_folder, settings=self.settings)
        return project.open_spark_for_users()

    @property
    def spark_context(self) -> SparkContext:
        """The session's context.

        Raises:
            Refused: The session is one of Spark Connect, which has none.
        """
        session = self.spark_session
        try:
            return session.sparkContext
        except AttributeError as error:  # pydantic would say that this class has no such field
            raise Refused(
                "a session of Spark Connect (`spark.remote` in vde.yaml) has no SparkContext",
                advice="Use `spark_session`, or set `spark.master` to a cluster.",
            ) from error
