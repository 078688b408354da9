"""Tests of how files of manifests are read."""
