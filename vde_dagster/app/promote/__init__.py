"""Environments: their views, and moving them to other versions."""
