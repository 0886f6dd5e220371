"""Commands for the files of a project: making, formatting, testing and serving it."""
