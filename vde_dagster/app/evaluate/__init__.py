"""Evaluating a model: what it reads, what need not be computed, and one unit of work."""
