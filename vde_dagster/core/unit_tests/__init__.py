"""Unit tests of models: given rows, expected rows, and how they differ from those that came."""
