"""Projects of other tools, written as projects of this one.

Each tool's own loader reads its project (`sqlmesh_dump`, a manifest of dbt). `sqlmesh` and `dbt`
say what that means here, as a `draft.Draft`; `writing` makes its files and the report.
"""
