"""Runs that are not runs of assets: plans, promotions, sessions and cleaning up."""
