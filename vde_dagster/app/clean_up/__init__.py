"""Removing what nothing refers to any more (rule R12)."""
