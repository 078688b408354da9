"""
Play a day of jobs through the decision engine on a virtual clock, and tell what happened.

The simulator decides nothing about quota: it brings arrivals, run times and evictions to the same
`decide` and life cycle that run a cluster, and reads the clock only to measure the engine.
"""
