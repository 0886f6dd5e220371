"""The durable state in a SQL database: SQLite by default, Postgres by the same code."""
