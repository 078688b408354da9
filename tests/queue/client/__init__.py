"""Tests of what a program needs to talk to an API server."""
