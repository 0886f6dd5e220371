"""Which range of its parents a query reads."""
