"""Tests of what is known of kinds, built in or defined."""
