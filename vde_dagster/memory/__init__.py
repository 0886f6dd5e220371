"""The ports in memory: real second implementations, for tests and for simulations."""
