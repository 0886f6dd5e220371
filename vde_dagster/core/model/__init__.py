"""Models as values: what a file of a project says, what makes a version of it, and its kind."""
