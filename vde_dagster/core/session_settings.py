"""Settings of Spark's session on which results depend: pinned, or part of what a model is.

Settings that decide what a text means (the case of names, what a number in GROUP BY stands for) are
pinned for all sessions, since whatever is said about queries holds for one meaning only. Others
that may change results are part of the data hash where they are not Spark's defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PINNED: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    # Else Spark puts settings and environment variables in place of ${...}, in literals as well.
    "spark.sql.variable.substitute": "false",
    # Else a backslash in a literal stands for itself, and ours are written to stand for the next.
    "spark.sql.parser.escapedStringLiterals": "false",
    # Else names, texts and numbers stand for something else than they are read as here.
    "spark.sql.caseSensitive": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.relationPrecedence": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.groupByAliases": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.legacy.setopsPrecedence.enabled": "false",
}
"""Settings that every session has, whatever is configured."""

DEFAULTS: Final[Mapping[str, str]] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
"""Spark's own values of the settings that change results most: saying them again says nothing."""

_DECIDE_EXPRESSIONS: Final = (
    "spark.sql.ansi.",
    "spark.sql.decimalOperations.",
    "spark.sql.legacy.",
    "spark.sql.timestampType",
)
"""How settings begin that decide what casts, numbers and times are."""

_HARMLESS: Final = (
    "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.broadcast",
    "spark.sql.cache",
    "spark.sql.catalog.",
    "spark.sql.catalogImplementation",
    "spark.sql.cbo.",
    "spark.sql.codegen.",
    "spark.sql.debug.",
    "spark.sql.defaultCatalog",
    "spark.sql.event",
    "spark.sql.exchange.",
    "spark.sql.execution.arrow.maxRecordsPerBatch",
    "spark.sql.execution.arrow.pyspark.enabled",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled",
    "spark.sql.extensions",
    "spark.sql.files.max",
    "spark.sql.files.min",
    "spark.sql.files.openCostInBytes",
    "spark.sql.hive.metastore",
    "spark.sql.iceberg.",
    "spark.sql.inMemoryColumnarStorage.",
    "spark.sql.join.",
    "spark.sql.maxPlanStringLength",
    "spark.sql.metadataCacheTTLSeconds",
    "spark.sql.redaction.",
    "spark.sql.repl.",
    "spark.sql.requireAllClusterKeysFor",
    "spark.sql.shuffle.",
    "spark.sql.sources.bucketing.",
    "spark.sql.sources.parallelPartitionDiscovery.",
    "spark.sql.sources.v2.bucketing.",
    "spark.sql.statistics.",
    "spark.sql.streaming.",
    "spark.sql.thriftServer.",
    "spark.sql.ui.",
    "spark.sql.warehouse.dir",
)
"""How settings begin that decide where and how fast something is computed, and not what."""


def changing_results(conf: Mapping[str, str]) -> dict[str, str]:
    """Those of a project's settings that its rows may follow from.

    Args:
        conf: Spark's settings, as they are configured.

    Returns:
        All of Spark's SQL settings but those that are pinned, that say Spark's default again, or
        that only decide how fast something is computed. What is not known may change results.
    """
    return {
        key: value
        for key, value in sorted(conf.items())
        if key.startswith("spark.sql.")
        and key not in PINNED
        and not key.startswith(_HARMLESS)
        and value.strip().upper() != DEFAULTS.get(key, "").upper()
    }


def against_translation(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Those of `changing_results` with which no translation of another dialect was proven."""
    return tuple(key for key in settings if key.startswith(_DECIDE_EXPRESSIONS))
