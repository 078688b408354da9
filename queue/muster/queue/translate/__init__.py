"""
API objects in, engine values out: the one place where the two vocabularies meet.

Quantities become integers, timestamps microseconds, selectors tuples; absent fields get the meaning
the API gives them. Nothing here looks at two objects at once, except that pods are read with what
their namespace and the administrator add to them (`pods.PodRules`). Nothing decides.
"""
