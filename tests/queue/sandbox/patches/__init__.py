"""Tests of the patches that clients send."""
