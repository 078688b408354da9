"""Tests of the sandbox, part by part."""
