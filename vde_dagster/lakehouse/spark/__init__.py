"""Spark's sessions, in a JVM of this process or over Spark Connect, and what they need."""
