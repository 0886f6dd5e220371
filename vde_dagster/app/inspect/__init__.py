"""Read-only use cases: status, intervals, rows, final SQL, differences."""
