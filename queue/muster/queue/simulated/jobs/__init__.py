"""
The Job controller of the simulated cluster: batch/v1 Jobs become pods, and pods become a status.

`assessment` reads what is so, `planning` says which pods to create and delete, `accounting` which
status to write and whose finalizers to release: values in, values out, no request, no clock.
`controller` carries it out on an API server, and `expiry` deletes finished Jobs whose time is up.

Each pod is counted exactly once, also when the controller dies between two writes: a finished pod
keeps its finalizer until its uid is written down in `status.uncountedTerminatedPods`, and leaves
that list, to become a number, only after its finalizer is gone.
"""
