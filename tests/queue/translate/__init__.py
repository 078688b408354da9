"""Tests of how API objects become engine values."""
