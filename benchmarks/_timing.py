"""How benchmarks compare speeds: alternating, in one process. Not a benchmark by itself."""

import time
from collections.abc import Callable, Mapping


def speeds_in_turns(
    sides: Mapping[str, Callable[[], object]],
    amount: int,
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """The work per second of each side, in every round, after a warm-up round.

    With `time.process_time` as the clock, seconds of one thread's processor count, however busy the machine is.
    """
    speeds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, run in sides.items():
            started = clock()
            run()
            if number:
                speeds[name].append(amount / (clock() - started))
    return speeds
