"""How benchmarks compare speeds: alternating, in one process. Not a benchmark by itself."""

import time
from collections.abc import Callable, Mapping


def speeds_in_turns(sides: Mapping[str, Callable[[], object]], amount: int, rounds: int) -> dict[str, list[float]]:
    """The work per second of each side, in every round, after a warm-up round."""
    speeds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, run in sides.items():
            started = time.perf_counter()
            run()
            if number:
                speeds[name].append(amount / (time.perf_counter() - started))
    return speeds
