"""Catalogs on pyiceberg, of SQL and over REST, and their views."""
