"""Tests of the HTTP side: connections, bodies, and how it ends."""
