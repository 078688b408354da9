"""The same events give the same plans in every process, whatever Python hashes strings to."""

import os
import subprocess
import sys
from hashlib import sha256
from random import Random

import pytest

from tests.admission.histories import History
from tests.admission.world import FAIR

STEPS = 400


def digest(seed: int) -> str:
    """All that was decided in one long life, in short."""
    history = History(Random(seed), FAIR if seed % 2 else None)
    history.steps(STEPS)
    assert sum(bool(plan.decisions) for plan in history.plans) > STEPS // 20, "too little happened"
    return sha256("\n".join(repr(plan) for plan in history.plans).encode()).hexdigest()


def digest_in_another_process(seed: int, hash_seed: str) -> str:
    program = f"from tests.admission.test_determinism import digest; print(digest({seed}))"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = (sys.executable, "-c", program)
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize("seed", [4, 5])
def test_plans_do_not_depend_on_hashing(seed: int) -> None:
    found = [digest_in_another_process(seed, hash_seed) for hash_seed in ("1", "2")]

    assert found == [digest(seed)] * 2
