"""
The engine's second definition: one cycle of the peer, written down plainly from its specification.

It is slow and meant to be obviously right: full copies instead of undo, recursion over the tree
instead of sums that are kept, exact fractions. It reads scenarios as JSON and gives outcomes, and
shares no code with what it judges. What is not in scenarios is not in here: nothing arrives or
ends, no topology, no rounds, no patience.

`values` reads quantities, `reading` objects; `quota` is the algebra of the tree, `victims` chooses
whom to preempt, `assignment` chooses flavors, `cycle` puts them together.
"""

from collections.abc import Mapping
from typing import Any

from tests.conformance.oracle.cycle import Scheduler
from tests.conformance.oracle.reading import World


def run(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome of a scenario, in the form in which outcomes are recorded."""
    return Scheduler(World(scenario)).run(scenario["name"], scenario["cycles"])
