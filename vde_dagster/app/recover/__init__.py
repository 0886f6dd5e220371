"""Finishing or undoing what an earlier process began."""
