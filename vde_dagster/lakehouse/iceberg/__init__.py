"""Tables by Iceberg's metadata alone, without a JVM: made, changed, read and published."""
