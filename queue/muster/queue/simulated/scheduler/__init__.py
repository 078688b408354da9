"""
The scheduler of the simulated cluster: it binds pods to nodes, and says why it cannot.

`demands` reads what a pod asks of a node, `accounts` keeps what each node has and gives, `fitting`
says whether and how well the two go together, `topology` what pods on other nodes have to do with
it, `preemption` whom a more important pod displaces.
`core` puts them together: it is told what changes in the cluster and returns decisions, without
requests or a clock. `controller` carries these out on an API server.

What is not simulated leaves its pods unscheduled, with an event that says so: persistent volumes,
resource claims, affinity to pods in namespaces chosen by labels.
"""
