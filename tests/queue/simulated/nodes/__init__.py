"""Tests of simulated nodes and their kubelets."""
