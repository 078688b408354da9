"""
Simulated machines: their Node objects and Leases, and kubelets that pretend to run pods.

They serve any API server: the sandbox, and a real control plane, which has no kubelets.
"""
