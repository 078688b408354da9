"""Tests of the verbs: writes, admission, conversion, definitions."""
