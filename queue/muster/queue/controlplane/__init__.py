"""
A real Kubernetes control plane on this machine, for tests and trials, as a handful of processes.

`build` makes one program out of the published Go modules of etcd, Kubernetes and kubectl, and keeps
it in a cache; `launch` starts it on free loopback ports in a folder of its own; `server` is one
process of it. Nothing here is for production: one token rules everything and etcd never syncs.
"""
