"""
A small Kubernetes API server in one process, for people and tests without a cluster.

It serves kubectl, client libraries and controllers as a real API server does, and is kept honest by
probes that run on both. What it does not do it refuses with 501; it never answers wrongly.
"""
