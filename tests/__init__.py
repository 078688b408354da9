"""The tests of both halves, of the command line, and of the repository itself."""
