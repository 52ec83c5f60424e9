"""Trains a parser and is killed in the middle: `python -m tests.parser.killed_run RELEASE RUN STEP`."""

import os
import signal
import sys

from recipeflow.parser.runs import start_training
from recipeflow.parser.training import ParserTrainer
from tests.parser.reading import tiny_config

LEARNING = {"epochs": 4, "checkpoint_every": 1, "part_share": 0.5}


def main() -> None:
    release, run, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
    step = ParserTrainer.training_step

    def step_and_die(self, batch):
        if self.state.step == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(self, batch)

    ParserTrainer.training_step = step_and_die
    start_training(release, run, tiny_config(**LEARNING), fold=0).train()


if __name__ == "__main__":
    main()
