"""A cache of models and their queries as they were read, in a file of the project."""
