"""One manifest of each of our kinds in which every field is set; a test says if one is missing."""

from tests.queue.api.manifests import NOON, Manifest, a_manifest

CONDITION: Manifest = {
    "type": "Active",
    "status": "True",
    "observedGeneration": 1,
    "lastTransitionTime": NOON,
    "reason": "Ready",
    "message": "Can admit new workloads",
}

METADATA: Manifest = {
    "name": "x",
    "generateName": "x-",
    "namespace": "team-a",
    "uid": "u",
    "labels": {"team": "a"},
    "annotations": {"example.com/note": "any text"},
    "generation": 1,
    "resourceVersion": "7",
    "creationTimestamp": NOON,
    "deletionTimestamp": NOON,
    "ownerReferences": [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "x",
            "uid": "u",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ],
    "finalizers": ["kueue.x-k8s.io/resource-in-use"],
}

SELECTOR: Manifest = {
    "matchLabels": {"team": "a"},
    "matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}],
}

TOLERATION: Manifest = {
    "key": "spot",
    "operator": "Equal",
    "value": "true",
    "effect": "NoExecute",
    "tolerationSeconds": 30,
}

GROUP: Manifest = {
    "coveredResources": ["cpu", "nvidia.com/gpu"],
    "flavors": [
        {
            "name": "h100",
            "resources": [
                {
                    "name": "cpu",
                    "nominalQuota": "8",
                    "borrowingLimit": "4",
                    "lendingLimit": "2",
                },
                {"name": "nvidia.com/gpu", "nominalQuota": "64"},
            ],
        }
    ],
}

USAGE: Manifest = {
    "name": "h100",
    "resources": [{"name": "cpu", "total": "4", "borrowed": "1"}],
}

LOCAL_USAGE: Manifest = {"name": "h100", "resources": [{"name": "cpu", "total": "4"}]}

CLUSTER_QUEUE = a_manifest(
    "ClusterQueue",
    metadata=METADATA,
    spec={
        "resourceGroups": [GROUP],
        "cohortName": "all",
        "queueingStrategy": "BestEffortFIFO",
        "namespaceSelector": SELECTOR,
        "flavorFungibility": {
            "whenCanBorrow": "TryNextFlavor",
            "whenCanPreempt": "TryNextFlavor",
            "preference": "PreemptionOverBorrowing",
        },
        "preemption": {
            "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 100},
            "withinClusterQueue": "LowerPriority",
        },
        "admissionChecksStrategy": {"admissionChecks": [{"name": "check", "onFlavors": ["h100"]}]},
        "stopPolicy": "None",
        "fairSharing": {"weight": "500m"},
        "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"},
        "concurrentAdmissionPolicy": {
            "migration": {
                "mode": "TryPreferredFlavors",
                "constraints": {"lastAcceptableFlavorName": "h100"},
            }
        },
    },
    status={
        "conditions": [CONDITION],
        "flavorsReservation": [USAGE],
        "flavorsUsage": [USAGE],
        "pendingWorkloads": 3,
        "reservingWorkloads": 2,
        "admittedWorkloads": 1,
        "fairSharing": {"weightedShare": 250},
    },
)

COHORT = a_manifest(
    "Cohort",
    metadata=METADATA,
    spec={
        "parentName": "root",
        "resourceGroups": [GROUP],
        "fairSharing": {"weight": "2"},
    },
    status={"fairSharing": {"weightedShare": 0}},
)

LOCAL_QUEUE = a_manifest(
    "LocalQueue",
    metadata=METADATA,
    spec={"clusterQueue": "all", "stopPolicy": "Hold", "fairSharing": {"weight": "1"}},
    status={
        "conditions": [CONDITION],
        "pendingWorkloads": 3,
        "reservingWorkloads": 2,
        "admittedWorkloads": 1,
        "flavorsReservation": [LOCAL_USAGE],
        "flavorsUsage": [LOCAL_USAGE],
        "fairSharing": {
            "weightedShare": 0,
            "admissionFairSharingStatus": {
                "consumedResources": {"cpu": "4336800n"},
                "lastUpdate": NOON,
            },
        },
    },
)

RESOURCE_FLAVOR = a_manifest(
    "ResourceFlavor",
    metadata=METADATA,
    spec={
        "nodeLabels": {"cloud/gpu": "h100"},
        "nodeTaints": [{"key": "spot", "value": "true", "effect": "NoSchedule", "timeAdded": NOON}],
        "tolerations": [TOLERATION],
        "topologyName": "blocks",
    },
)

TOPOLOGY = a_manifest(
    "Topology",
    metadata=METADATA,
    spec={"levels": [{"nodeLabel": "cloud/block"}, {"nodeLabel": "kubernetes.io/hostname"}]},
)

WORKLOAD_PRIORITY_CLASS = a_manifest(
    "WorkloadPriorityClass", metadata=METADATA, value=-5, description="When nothing else waits."
)

ADMISSION_CHECK = a_manifest(
    "AdmissionCheck",
    metadata=METADATA,
    spec={
        "controllerName": "example.com/check",
        "parameters": {"apiGroup": "example.com", "kind": "Settings", "name": "x"},
    },
    status={"conditions": [CONDITION]},
)

REQUIREMENT: Manifest = {"key": "gpu", "operator": "In", "values": ["h100"]}
TERM: Manifest = {"matchExpressions": [REQUIREMENT], "matchFields": [REQUIREMENT]}
RESOURCES: Manifest = {
    "requests": {"cpu": "1", "nvidia.com/gpu": "8"},
    "limits": {"memory": "1Gi"},
    "claims": [{"name": "gpus", "request": "one"}],
}

POD_SPEC: Manifest = {
    "containers": [{"name": "c", "image": "i", "resources": RESOURCES, "restartPolicy": "Never"}],
    "initContainers": [
        {"name": "sidecar", "image": "i", "resources": RESOURCES, "restartPolicy": "Always"}
    ],
    "resources": RESOURCES,
    "overhead": {"cpu": "250m"},
    "restartPolicy": "Never",
    "nodeName": "n",
    "nodeSelector": {"gpu": "h100"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": TERM}],
        },
        "podAffinity": {},
        "podAntiAffinity": {},
    },
    "tolerations": [TOLERATION],
    "priorityClassName": "high",
    "priority": 7,
    "runtimeClassName": "runc",
    "schedulingGates": [{"name": "example.com/gate"}],
    "resourceClaims": [
        {"name": "gpus", "resourceClaimName": "a", "resourceClaimTemplateName": "b"}
    ],
    "volumes": [{"name": "v", "emptyDir": {}}],
}

WORKLOAD = a_manifest(
    "Workload",
    metadata={**METADATA, "annotations": {"kueue.x-k8s.io/priority-boost": "-3"}},
    spec={
        "podSets": [
            {
                "name": "main",
                "template": {
                    "metadata": {"labels": {"app": "x"}, "annotations": {"example.com/a": "b"}},
                    "spec": POD_SPEC,
                },
                "count": 4,
                "minCount": 2,
                "topologyRequest": {
                    "required": "cloud/block",
                    "preferred": "cloud/block",
                    "unconstrained": False,
                    "podIndexLabel": "batch.kubernetes.io/job-completion-index",
                    "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index",
                    "subGroupCount": 2,
                    "podSetGroupName": "g",
                    "podSetSliceRequiredTopology": "cloud/rack",
                    "podSetSliceSize": 2,
                    "podsetSliceRequiredTopologyConstraints": [
                        {"topology": "cloud/rack", "size": 2}
                    ],
                },
            }
        ],
        "queueName": "q",
        "priorityClassRef": {
            "group": "kueue.x-k8s.io",
            "kind": "WorkloadPriorityClass",
            "name": "high",
        },
        "priority": 7,
        "active": True,
        "maximumExecutionTimeSeconds": 3600,
        "preemptionGates": [{"name": "kueue.x-k8s.io/multikueue"}],
    },
    status={
        "conditions": [{**CONDITION, "type": "QuotaReserved"}],
        "admission": {
            "clusterQueue": "all",
            "podSetAssignments": [
                {
                    "name": "main",
                    "flavors": {"cpu": "h100"},
                    "resourceUsage": {"cpu": "4"},
                    "count": 4,
                    "topologyAssignment": {
                        "levels": ["cloud/block", "cloud/rack"],
                        "slices": [
                            {
                                "domainCount": 2,
                                "valuesPerLevel": [
                                    {"universal": "b1"},
                                    {
                                        "individual": {
                                            "prefix": "r-",
                                            "suffix": "-x",
                                            "roots": ["1", "2"],
                                        }
                                    },
                                ],
                                "podCounts": {"individual": [1, 2]},
                            },
                            {
                                "domainCount": 1,
                                "valuesPerLevel": [{"universal": "b2"}, {"universal": "r"}],
                                "podCounts": {"universal": 1},
                            },
                        ],
                    },
                    "delayedTopologyRequest": "Ready",
                }
            ],
        },
        "requeueState": {"count": 1, "requeueAt": NOON},
        "reclaimablePods": [{"name": "main", "count": 1}],
        "admissionChecks": [
            {
                "name": "check",
                "state": "Ready",
                "lastTransitionTime": NOON,
                "message": "",
                "requeueAfterSeconds": 60,
                "retryCount": 1,
                "podSetUpdates": [
                    {
                        "name": "main",
                        "labels": {"a": "b"},
                        "annotations": {"example.com/a": "b"},
                        "nodeSelector": {"a": "b"},
                        "tolerations": [TOLERATION],
                    }
                ],
            }
        ],
        "resourceRequests": [{"name": "main", "resources": {"cpu": "4"}}],
        "accumulatedPastExecutionTimeSeconds": 60,
        "schedulingStats": {
            "evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]
        },
        "nominatedClusterNames": [],
        "clusterName": "worker-1",
        "unhealthyNodes": [{"name": "n"}],
        "preemptionGates": [
            {"name": "kueue.x-k8s.io/multikueue", "position": "Open", "lastTransitionTime": NOON}
        ],
    },
)

FULL: dict[str, Manifest] = {
    "AdmissionCheck": ADMISSION_CHECK,
    "ClusterQueue": CLUSTER_QUEUE,
    "Cohort": COHORT,
    "LocalQueue": LOCAL_QUEUE,
    "ResourceFlavor": RESOURCE_FLAVOR,
    "Topology": TOPOLOGY,
    "Workload": WORKLOAD,
    "WorkloadPriorityClass": WORKLOAD_PRIORITY_CLASS,
}
