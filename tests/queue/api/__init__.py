"""Tests of the API models: what is read, what is refused and how that is said."""
