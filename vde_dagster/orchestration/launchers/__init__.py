"""What launches runs by itself, and how often it tries again."""
