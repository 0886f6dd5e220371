"""Trying each part that a project needs, one after another."""
