"""Which time ranges of its parents a query reads."""
