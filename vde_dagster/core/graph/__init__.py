"""The models of a project together: what reads what, and the final SQL of each."""
