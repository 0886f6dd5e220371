"""Audits: queries for bad rows among what was staged, and what they found (seed 001, seed 003)."""
