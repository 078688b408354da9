"""Tests of who owns which field of an object."""
