"""
What happens to one pod on its node, as its kubelet knows it to the microsecond.

A `PodRun` is made when the kubelet first sees the pod, from what its status says then, and moved
forward with `advance`: every start, end, restart and stop that is due happens at its own instant,
however late anybody looks. Nothing is sent anywhere; `pod_status` puts the state into words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from muster.queue.api.timestamps import parse_timestamp
from muster.queue.client.protocol import Manifest
from muster.queue.simulated.nodes.behaviour import (
    FOREVER_US,
    PREFIX,
    Behaviour,
    BehaviourError,
    Run,
    plan_init_run,
    plan_run,
    read_behaviour,
)
from muster.queue.simulated.nodes.containers import (
    KILLED,
    TERMINATED,
    Container,
    Role,
    Termination,
    is_sidecar,
    restarts,
)

DEADLINE_EXCEEDED: Final = "DeadlineExceeded"

_US: Final = 1_000_000
_GRACE_S: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What holds for all pods."""

    seed: int
    """Of the chance that decides which runs fail."""
    pod_duration_us: int
    """How long containers run that nothing else is said about, unless they always restart."""


@dataclass(frozen=True, slots=True)
class Stop:
    """All containers were told to end, and do by themselves or at `at_us`."""

    at_us: int
    exit_code: int
    reason: str = ""
    """Of the pod's failure; "" when it is being deleted."""


class PodRun:
    """One pod on its node."""

    def __init__(self, pod: Manifest, settings: RunSettings, now_us: int) -> None:
        self.uid: str = pod["metadata"]["uid"]
        self.problem = ""
        """What is wrong with the pod's annotations; nothing starts while they were never right."""
        self.stopping: Stop | None = None
        self.has_begun = False
        self._settings = settings
        self._annotations: dict[str, str] | None = None
        self._behaviour = Behaviour()
        status = pod.get("status", {})
        self.start_us = _instant(status.get("startTime"), now_us)
        """When the kubelet accepted the pod."""
        self._known_us = self.start_us if status.get("startTime") else now_us
        spec = pod["spec"]
        self._policy: str = spec.get("restartPolicy", "Always")
        self._grace_us = spec.get("terminationGracePeriodSeconds", _GRACE_S) * _US
        self.inits = [self._init(each) for each in spec.get("initContainers", ())]
        self.mains = [self._main(each) for each in spec["containers"]]
        self.observe(pod)
        self._adopt(status)
        if self.has_begun and not self._is_done:
            self._start_what_may(now_us)

    @property
    def containers(self) -> Iterator[Container]:
        yield from self.inits
        yield from self.mains

    @property
    def incomplete(self) -> list[str]:
        """The init containers that the main ones have to wait for."""
        return [
            each.name
            for each in self.inits
            if not (each.has_started if each.role is Role.SIDECAR else each.has_succeeded)
        ]

    @property
    def is_over(self) -> bool:
        """Whether nothing runs, nor will again."""
        if any(each.is_running for each in self.containers):
            return False
        return self.stopping is not None or (self.has_begun and self._is_done)

    @property
    def has_failed(self) -> bool:
        """How it ended, when it is over."""
        if self.stopping is not None and self.stopping.reason:
            return True
        ends = [each.ended for each in self.containers if each.role is not Role.SIDECAR]
        return any(each is None or each.exit_code != 0 for each in ends)

    @property
    def _is_done(self) -> bool:
        if self._init_has_failed:
            return True
        return all(each.ended is not None for each in self.mains)

    @property
    def _init_has_failed(self) -> bool:
        return any(
            each.role is Role.INIT and each.ended is not None and each.ended.exit_code != 0
            for each in self.inits
        )

    def observe(self, pod: Manifest) -> None:
        """Take in what may change about a pod while it runs: annotations and its deadline."""
        deadline_s = pod["spec"].get("activeDeadlineSeconds")
        self.deadline_us = FOREVER_US if deadline_s is None else self.start_us + deadline_s * _US
        annotations = {
            name: value
            for name, value in (pod["metadata"].get("annotations") or {}).items()
            if name.startswith(PREFIX)
        }
        if annotations == self._annotations:
            return
        self._annotations = annotations
        try:
            self._behaviour = read_behaviour(annotations)
        except BehaviourError as error:
            self.problem = str(error)
            return
        self.problem = ""
        for container in self.mains:
            container.readiness_delay_us = self._behaviour.readiness_delay_us
            if container.is_running:
                container.run = container.plan(container.restarts)

    def stop(self, now_us: int, grace_us: int, reason: str = "") -> None:
        """Tell all containers to end; a stop that is under way can only become quicker."""
        takes_us = self._behaviour.termination_us
        killed = takes_us > grace_us
        at_us = now_us + min(takes_us, grace_us)
        if self.stopping is None:
            self.stopping = Stop(at_us, KILLED if killed else TERMINATED, reason)
        elif at_us < self.stopping.at_us:
            exit_code = KILLED if killed else self.stopping.exit_code
            self.stopping = Stop(at_us, exit_code, self.stopping.reason)

    def advance(self, now_us: int) -> int:
        """Let everything happen that is due; return when to look again, FOREVER_US for never."""
        while (at_us := self._next_us()) <= now_us:
            self._step(at_us)
        becoming_ready = (
            each.ready_us for each in self.containers if each.is_running and each.ready_us > now_us
        )
        return min(at_us, *becoming_ready, FOREVER_US)

    def _next_us(self) -> int:
        """Return when something happens next."""
        if self.is_over:
            return FOREVER_US
        instants = [each.ends_us for each in self.containers]
        if self.stopping is not None:
            return min(self.stopping.at_us, *instants)
        if not self.has_begun:
            begin_us = self._known_us + self._behaviour.start_delay_us
            instants.append(FOREVER_US if self.problem else begin_us)
        instants += [each.resume_us for each in self.containers if each.resume_us is not None]
        return min(self.deadline_us, *instants)

    def _step(self, at_us: int) -> None:
        for each in self.containers:
            if each.ends_us <= at_us:
                assert each.run is not None, "what ends has run"
                each.end(at_us, each.run.exit_code, for_good=self.stopping is not None)
        if self.stopping is None and self.deadline_us <= at_us:
            self.stop(at_us, self._grace_us, DEADLINE_EXCEEDED)
        if self.stopping is None:
            self.has_begun = True
            self._start_what_may(at_us)
            if self._is_done:
                self._end_all(at_us, TERMINATED)
        elif self.stopping.at_us <= at_us:
            self._end_all(at_us, self.stopping.exit_code)

    def _start_what_may(self, at_us: int) -> None:
        for each in self.inits:
            each.start_if_due(at_us)
            if each.role is Role.INIT and not each.has_succeeded:
                return
        for each in self.mains:
            each.start_if_due(at_us)

    def _end_all(self, at_us: int, exit_code: int) -> None:
        for each in self.containers:
            if each.is_running:
                each.end(at_us, exit_code, for_good=True)

    def _init(self, spec: Mapping[str, Any]) -> Container:
        sidecar = is_sidecar(spec)
        # Those of a pod that always restarts are over once they have succeeded.
        policy = spec.get("restartPolicy") or ("Never" if self._policy == "Never" else "OnFailure")

        def plan(_: int) -> Run:
            return Run(FOREVER_US, 0) if sidecar else plan_init_run(spec)

        return Container(
            spec["name"],
            spec.get("image", ""),
            Role.SIDECAR if sidecar else Role.INIT,
            restarts(policy, spec.get("restartPolicyRules", ())),
            plan,
        )

    def _main(self, spec: Mapping[str, Any]) -> Container:
        policy = spec.get("restartPolicy") or self._policy
        default_us = FOREVER_US if policy == "Always" else self._settings.pod_duration_us

        def plan(restarts: int) -> Run:
            chance = Random(f"{self._settings.seed}/{self.uid}/{spec['name']}/{restarts}")  # noqa: S311 - chance, not a secret
            return plan_run(self._behaviour, spec, chance, default_us)

        again = restarts(policy, spec.get("restartPolicyRules", ()))
        return Container(spec["name"], spec.get("image", ""), Role.MAIN, again, plan)

    def _adopt(self, status: Mapping[str, Any]) -> None:
        """Go on from what a kubelet before us has reported."""
        reported = {
            each["name"]: each
            for field in ("initContainerStatuses", "containerStatuses")
            for each in status.get(field) or ()
        }
        for container in self.containers:
            if found := reported.get(container.name):
                _adopt(container, found)
                self.has_begun |= container.has_started


def _adopt(container: Container, status: Mapping[str, Any]) -> None:
    container.restarts = status.get("restartCount", 0)
    container.crashes = container.restarts
    container.previous = _termination(status.get("lastState", {}).get("terminated"))
    state = status.get("state", {})
    if running := state.get("running"):
        container.start(_instant(running.get("startedAt"), 0))
    elif ended := _termination(state.get("terminated")):
        container.started_us = ended.started_us
        if container.restarts_on(ended.exit_code):
            container.crash(ended)
        else:
            container.ended = ended
    elif container.previous is not None:
        # It waits for its next run; the count and the back-off were written down already.
        container.restarts, container.crashes = container.restarts - 1, container.crashes - 1
        container.crash(container.previous)


def _termination(terminated: Mapping[str, Any] | None) -> Termination | None:
    if not terminated:
        return None
    finished_us = _instant(terminated.get("finishedAt"), 0)
    started_us = _instant(terminated.get("startedAt"), finished_us)
    return Termination(started_us, finished_us, terminated.get("exitCode", 0))


def _instant(text: str | None, default_us: int) -> int:
    return parse_timestamp(text) if text else default_us
