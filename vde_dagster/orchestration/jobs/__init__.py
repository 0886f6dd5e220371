"""Runs that are no runs of assets: plans, promotions, sessions and cleaning up."""
