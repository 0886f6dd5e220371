"""Running unit tests of models, and writing one from live rows."""
