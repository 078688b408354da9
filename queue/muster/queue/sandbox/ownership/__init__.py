"""
Who owns which field of an object: `metadata.managedFields` and server-side apply.

Sources: the documents of Kubernetes on server-side apply, and what a real API server answers. All
functions are pure: they build new documents and change none that they are given, except where they
say so.
"""
