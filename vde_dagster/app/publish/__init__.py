"""Publishing what is staged, and what a version's table holds."""
