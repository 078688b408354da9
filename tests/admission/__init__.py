"""Tests of the decision engine."""
