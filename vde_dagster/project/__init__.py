"""A user's folder, read into values: configuration, model files, seeds, declared sources."""
