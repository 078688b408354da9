"""The kinds that are served: those that are built in, and those that definitions add."""
