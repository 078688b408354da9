"""
A simulated cluster: small controllers and kubelets that talk to an API server as real ones do.

Everything here works through `client.protocol.Client`, takes its time from a `Clock` and its chance
from a seeded generator.
"""
