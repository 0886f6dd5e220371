"""What becomes of old Iceberg snapshots, and of tables and files that nothing names."""
