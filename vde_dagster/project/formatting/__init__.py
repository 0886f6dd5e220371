"""One layout for model files."""
