"""Commands for damage, unused versions, and the setup."""
