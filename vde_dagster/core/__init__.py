"""Pure decisions on immutable values: standard library and sqlglot only."""
