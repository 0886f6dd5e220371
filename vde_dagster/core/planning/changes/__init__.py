"""What an edit does to a model and to all that reads it, decided without any data."""
