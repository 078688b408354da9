"""
The patches of objects that clients may send: JSON patch, merge patch, strategic merge patch.

All three change the object they are given, which belongs to the request alone, and return it. They
know nothing of verbs: what a patch may change is decided by whoever writes the result.
"""
