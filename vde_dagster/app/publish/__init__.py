"""Publishing what is staged, and checking that a table is as it was recorded."""
