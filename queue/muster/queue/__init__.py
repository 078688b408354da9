"""The shell around the engine: API models, manifests, simulator, command line.

It reads the world, asks `muster.admission` for a plan, and carries the plan out. It never decides
who is admitted, on what, or at whose cost: a rule about quota belongs to `muster.admission`.
"""
