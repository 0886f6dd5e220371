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
    # Else names, texts and numbers have another meaning than this package takes them for.
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
"""Spark's defaults of the settings that change results most: setting them changes nothing."""

_DECIDE_EXPRESSIONS: Final = (
    "spark.sql.ansi.",
    "spark.sql.decimalOperations.",
    "spark.sql.legacy.",
    "spark.sql.timestampType",
)
"""Prefixes of the settings that decide what casts, numbers and times are."""

HARMLESS: Final[Mapping[str, tuple[str, ...]]] = {
    "where tables and code are": (
        "artifact.",
        "catalog.",
        "catalogImplementation",
        "defaultCatalog",
        "extensions",
        "hive.metastore.",
        "maven.",
        "warehouse.dir",
    ),
    "how work is cut and planned": (
        "adaptive.",
        "autoBroadcastJoinThreshold",
        "bucketing.coalesceBucketsInJoin.",
        "cbo.",
        "defaultSizeInBytes",
        "exchange.",
        "execution.broadcastHashJoin.",
        "execution.rangeExchange.",
        "execution.removeRedundantProjects",
        "execution.removeRedundantSorts",
        "execution.replaceHashWithSortAgg",
        "execution.reuseSubquery",
        "execution.topKSortFallbackThreshold",
        "execution.useObjectHashAggregateExec",
        "execution.usePartitionEvaluator",
        "files.maxPartitionBytes",
        "files.maxPartitionNum",
        "files.maxRecordsPerFile",
        "files.minPartitionNum",
        "files.openCostInBytes",
        "join.",
        "leafNodeDefaultParallelism",
        "limit.",
        "maxSinglePartitionBytes",
        "optimizer.dynamicPartitionPruning.",
        "optimizer.inSetConversionThreshold",
        "optimizer.inSetSwitchThreshold",
        "optimizer.runtime.",
        "optimizer.runtimeFilter.",
        "requireAllClusterKeysForCoPartition",
        "requireAllClusterKeysForDistribution",
        "shuffle.",
        "shuffledHashJoinFactor",
        "sources.bucketing.",
        "sources.fileCompressionFactor",
        "sources.ignoreDataLocality",
        "sources.parallelPartitionDiscovery.",
        "sources.v2.bucketing.",
        "statistics.",
        "unionOutputPartitioning",
    ),
    "how it is computed": (
        "codegen.",
        "columnVector.offheap.enabled",
        "sort.enableRadixSort",
        "subexpressionElimination.cache.maxEntries",
    ),
    "memory, caches, threads and time-outs": (
        "broadcastExchange.",
        "broadcastTimeout",
        "cache.",
        "cartesianProductExec.buffer.",
        "classic.shuffleDependency.",
        "connect.shuffleDependency.",
        "defaultCacheStorageLevel",
        "execution.interruptOnCancel",
        "filesourceTableRelationCacheSize",
        "hive.filesourcePartitionFileCacheSize",
        "inMemoryColumnarStorage.",
        "inMemoryTableScanStatistics.enable",
        "maxBroadcastTableSize",
        "metadataCacheTTLSeconds",
        "objectHashAggregate.sortBased.fallbackThreshold",
        "parser.manageParserCaches",
        "parser.parserDfaCacheFlushRatio",
        "parser.parserDfaCacheFlushThreshold",
        "resultQueryStage.maxThreadThreshold",
        "session.localRelationBatchOfChunksSizeBytes",
        "session.localRelationCacheThreshold",
        "session.localRelationChunkSizeBytes",
        "session.localRelationChunkSizeRows",
        "sessionWindow.buffer.",
        "shuffleDependency.",
        "shuffleExchange.maxThreadThreshold",
        "sortMergeJoinExec.buffer.",
        "subquery.maxThreadThreshold",
        "windowExec.buffer.",
    ),
    "how files are read and packed": (
        "avro.compression.codec",
        "avro.deflate.level",
        "avro.xz.level",
        "avro.zstandard.",
        "orc.columnarReaderBatchSize",
        "orc.columnarWriterBatchSize",
        "orc.compression.codec",
        "orc.enableNestedColumnVectorizedReader",
        "orc.enableVectorizedReader",
        "orc.filterPushdown",
        "parquet.columnarReaderBatchSize",
        "parquet.compression.codec",
        "parquet.enableNestedColumnVectorizedReader",
        "parquet.enableVectorizedReader",
        "parquet.filterPushdown",
        "parquet.filterPushdown.",
        "parquet.pushdown.inFilterThreshold",
    ),
    "how Iceberg plans and packs": (
        "iceberg.advisory-partition-size",
        "iceberg.aggregate-push-down.enabled",
        "iceberg.compression-codec",
        "iceberg.compression-level",
        "iceberg.compression-strategy",
        "iceberg.data-planning-mode",
        "iceberg.delete-planning-mode",
        "iceberg.distribution-mode",
        "iceberg.executor-cache.",
        "iceberg.locality.enabled",
        "iceberg.planning.preserve-data-grouping",
        "iceberg.read.adaptive-split-size.",
        "iceberg.read.split-size",
        "iceberg.report-column-stats",
        "iceberg.snapshot-property.",
        "iceberg.vectorization.enabled",
    ),
    "how rows go to Python": (
        "execution.arrow.compression.",
        "execution.arrow.localRelationThreshold",
        "execution.arrow.maxBytesPerBatch",
        "execution.arrow.maxBytesPerOutputBatch",
        "execution.arrow.maxRecordsPerBatch",
        "execution.arrow.maxRecordsPerOutputBatch",
        "execution.pandas.udf.buffer.size",
        "execution.pyspark.udf.",
        "execution.python.udf.",
    ),
    "what people and tools see": (
        "cli.",
        "dataFrameQueryContext.enabled",
        "dataframeCache.logLevel",
        "debug.",
        "error.messageFormat",
        "event.",
        "expressionTreeChangeLog.level",
        "extendedExplainProviders",
        "maxMetadataStringLength",
        "maxPlanStringLength",
        "nameResolutionLog.level",
        "planChangeLog.",
        "pyspark.jvmStacktrace.enabled",
        "pyspark.plotting.max_rows",
        "pyspark.udf.profiler",
        "pyspark.worker.logging.enabled",
        "queryExecutionListeners",
        "redaction.",
        "repl.",
        "stackTracesInDataFrameContext",
        "ui.",
    ),
    "what is not used to evaluate models": (
        "hive.thriftServer.",
        "pipelines.",
        "streaming.",
        "thriftServer.",
        "thriftserver.",
    ),
}
"""Settings under ``spark.sql.`` that change neither rows nor types nor whether there are any, by
what they decide; with a dot at the end all that begin so. Others may change results, as may those
that is not known."""

_PREFIX: Final = "spark.sql."
_KEYS: Final = frozenset(
    f"{_PREFIX}{each}" for group in HARMLESS.values() for each in group if not each.endswith(".")
)
_GROUPS: Final = tuple(
    f"{_PREFIX}{each}" for group in HARMLESS.values() for each in group if each.endswith(".")
)


def changing_results(conf: Mapping[str, str]) -> dict[str, str]:
    """Those of a project's settings that its rows may follow from.

    Args:
        conf: Spark's settings, as they are configured.

    Returns:
        All of Spark's SQL settings but those that are pinned, that say Spark's default again, or
        that are `HARMLESS`. An empty text is a value as any other.
    """
    return {
        key: value
        for key, value in sorted(conf.items())
        if may_change_results(key) and key not in PINNED and not _says_default(key, value)
    }


def may_change_results(key: str) -> bool:
    """Whether rows may follow from a setting; of one that is not known they may."""
    return key.startswith(_PREFIX) and key not in _KEYS and not key.startswith(_GROUPS)


def _says_default(key: str, value: str) -> bool:
    return key in DEFAULTS and value.strip().upper() == DEFAULTS[key].upper()


def against_translation(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Those of `changing_results` with which DuckDB's answers were never compared."""
    return tuple(key for key in settings if key.startswith(_DECIDE_EXPRESSIONS))
