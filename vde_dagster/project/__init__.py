"""Reads a project's folder into values: configuration, model files, seeds, declared sources."""
