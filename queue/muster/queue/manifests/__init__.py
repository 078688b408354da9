"""
Manifests: files and streams of Kubernetes objects, read whole or refused with every mistake named.

`sources` turns paths into texts, `parsing` texts into documents, `loading` documents into objects,
`references` looks at what objects say about each other. A mistake of the author is a `Complaint`;
all complaints are collected, so that one run shows everything there is to repair.
"""
