"""Tests of building and launching a control plane that need none."""
