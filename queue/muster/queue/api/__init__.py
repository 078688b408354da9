"""
The API at the edge: Kubernetes and Kueue objects as typed, validated values.

`registry.parse_object` turns a parsed manifest into a model or refuses it with every problem and
its path. Nothing here decides about admission; nothing here reads a file or talks to a cluster.
"""
