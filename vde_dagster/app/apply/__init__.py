"""Applying a plan, stage by stage."""
