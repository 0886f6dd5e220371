"""What concerns the process itself, and is no decision: spans of what its time goes to."""
