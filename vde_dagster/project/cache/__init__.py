"""Models and their queries as they were read before, kept in a file of the project."""
