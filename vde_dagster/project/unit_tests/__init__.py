"""Reading the unit tests of models from a project's folder ``tests``."""
