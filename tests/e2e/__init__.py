"""Tests against a real API server, controller manager and scheduler: `make e2e`."""
