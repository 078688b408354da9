"""Tests of the shell: API models, translation, commands."""
