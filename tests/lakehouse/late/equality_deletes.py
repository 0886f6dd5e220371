"""Equality deletes, which Spark reads and does not write: by Iceberg's Java library."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def delete_equal(spark: SparkSession, table: str, column: str, value: int) -> None:
    """Delete the rows of a table without partitions by the value of a BIGINT over 32 bits."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    iceberg = gateway.jvm.org.apache.iceberg
    source = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)
    field = source.schema().findField(column)
    columns = gateway.jvm.java.util.ArrayList()
    columns.add(column)
    keys = source.schema().select(columns)
    file_format = iceberg.FileFormat.PARQUET
    ids = gateway.new_array(gateway.jvm.int, 1)
    ids[0] = field.fieldId()
    builder = getattr(iceberg.data, "GenericFileWriterFactory$Builder")(source)
    builder.deleteFileFormat(file_format).equalityFieldIds(ids).equalityDeleteRowSchema(keys)
    files = iceberg.io.OutputFileFactory.builderFor(source, 1, 1).format(file_format).build()
    output = files.newOutputFile(source.spec(), None)
    writer = builder.build().newEqualityDeleteWriter(output, source.spec(), None)
    record = iceberg.data.GenericRecord.create(keys)
    record.setField(column, value)
    writer.write(record)
    writer.close()
    source.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
