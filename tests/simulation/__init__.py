"""Tests of the simulator, its input and what it shows."""
