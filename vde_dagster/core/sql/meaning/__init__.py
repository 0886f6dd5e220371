"""What a query means: its rows, and each of its columns, as digests that survive rewriting."""
