"""Tests of the store: revisions, history, watchers, and the file that keeps it."""
