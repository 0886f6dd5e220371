"""Projects of other tools, written as projects of this one.

Each tool's own loader reads its project (`sqlmesh_dump`, `dbt_forms`). `sqlmesh_project` and
`dbt_project` say what that means here, as a `draft.Draft`; `writing` makes its files and report.
"""
