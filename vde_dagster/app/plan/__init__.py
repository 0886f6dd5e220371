"""Making a plan: what an environment would show, what it waits for, what is to be computed."""
