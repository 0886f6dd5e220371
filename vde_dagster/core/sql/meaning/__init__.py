"""The meaning of a query as digests of its rows and columns, equal however it is written."""
