"""Manifests as people write them, for tests of what is read from files."""

import textwrap

KUEUE = "apiVersion: kueue.x-k8s.io/v1beta2"
NOON = "2026-01-01T12:00:00Z"
GPU = "nvidia.com/gpu"


def joined(*documents: str) -> str:
    return "\n---\n".join(document.strip("\n") for document in documents) + "\n"


def a_flavor(name: str, spec: str = "") -> str:
    return f"{KUEUE}\nkind: ResourceFlavor\nmetadata: {{name: {name}}}\nspec: {{{spec}}}"


def a_queue(name: str, quota: dict[str, int], spec: str = "namespaceSelector: {}") -> str:
    """Return a ClusterQueue with GPUs by flavor."""
    flavors = ", ".join(
        f"{{name: {flavor}, resources: [{{name: {GPU}, nominalQuota: {gpus}}}]}}"
        for flavor, gpus in quota.items()
    )
    lines = [f"{KUEUE}", "kind: ClusterQueue", f"metadata: {{name: {name}}}", "spec:"]
    if quota:
        lines += [f"  resourceGroups: [{{coveredResources: [{GPU}], flavors: [{flavors}]}}]"]
    return "\n".join(lines) + "\n" + textwrap.indent(textwrap.dedent(spec).strip("\n"), "  ")


def a_local_queue(name: str, cluster_queue: str, namespace: str = "team", spec: str = "") -> str:
    return (
        f"{KUEUE}\nkind: LocalQueue\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec: {{clusterQueue: {cluster_queue}{spec and f', {spec}'}}}"
    )


def a_check(name: str, *, active: str = "", metadata: str = "") -> str:
    """Return an AdmissionCheck whose controller says "True" or "False", or nothing."""
    told = (
        f"[{{type: Active, status: '{active}', reason: Told, message: '', "
        "lastTransitionTime: '2026-01-01T10:00:00Z'}]"
    )
    return (
        f"{KUEUE}\nkind: AdmissionCheck\nmetadata: {{name: {name}{metadata and f', {metadata}'}}}\n"
        "spec: {controllerName: example.com/budget}\n"
        f"status: {{conditions: {told if active else '[]'}}}"
    )


def a_job(
    name: str, queue: str, *, pods: int = 1, gpus: int = 1, pod: str = "", labels: str = ""
) -> str:
    """Return a Job whose pods ask for GPUs each; `pod` and `labels` go into their mappings."""
    queue_label = f"kueue.x-k8s.io/queue-name: {queue}"
    return f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: team, labels: {{{queue_label}{labels and f", {labels}"}}}}}
spec:
  parallelism: {pods}
  template:
    spec:
      {pod or "restartPolicy: Never"}
      containers: [{{name: c, image: i, resources: {{limits: {{{GPU}: {gpus}}}}}}}]"""


def a_running_workload(name: str, queue: str, *, pods: int, gpus: int, flavor: str) -> str:
    """Return an admitted Workload that has been running for two hours at noon."""
    since = "2026-01-01T10:00:00Z"
    conditions = "\n".join(
        f"  - {{type: {kind}, status: 'True', reason: {kind}, message: '', "
        f"lastTransitionTime: '{since}'}}"
        for kind in ("QuotaReserved", "Admitted")
    )
    return f"""\
{KUEUE}
kind: Workload
metadata: {{name: {name}, namespace: team, uid: {name}-1, creationTimestamp: '{since}'}}
spec:
  queueName: {queue}
  podSets:
  - count: {pods}
    template: {{spec: {{containers: [{{name: c, resources: {{requests: {{{GPU}: {gpus}}}}}}}]}}}}
status:
  admission:
    clusterQueue: {queue}
    podSetAssignments:
    - name: main
      count: {pods}
      flavors: {{{GPU}: {flavor}}}
      resourceUsage: {{{GPU}: {pods * gpus}}}
  conditions:
{conditions}"""
