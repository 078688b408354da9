"""
What a program needs to talk to a Kubernetes API server, a real one or the sandbox.

`protocol.Client` is the one seam: `http_client` speaks to any server, the sandbox has one in
process.
"""
