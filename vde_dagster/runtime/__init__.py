"""What concerns the process itself, and is not a decision.

Spans of what time goes to, secrets that are hidden in texts from then on, and running users' code.
"""
