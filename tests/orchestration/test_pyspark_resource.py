"""What the resource `pyspark` is over Spark Connect; `test_assets.py` uses it on a session."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import Refused
from vde_dagster.orchestration.assets.pyspark_resource import VdePySparkResource


class Remote:
    """A session of Spark Connect."""

    @property
    def sparkContext(self) -> object:  # noqa: N802 - pyspark's name
        raise AttributeError("[JVM_ATTRIBUTE_NOT_SUPPORTED] sparkContext")


def test_over_spark_connect_there_is_a_session_and_no_context(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = SimpleNamespace(open_spark_for_users=Remote)
    monkeypatch.setattr(VdeProject, "load", staticmethod(lambda _folder, **_: opened))
    resource = VdePySparkResource(project_folder="shop")
    assert type(resource.spark_session).__name__ == Remote.__name__
    with pytest.raises(Refused, match=r"Spark Connect .* has no SparkContext\. Use"):
        _ = resource.spark_context
