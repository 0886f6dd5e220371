"""Commands that compare a project with an environment, and move what the environment shows."""
