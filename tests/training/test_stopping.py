"""Signals that stop a run between two steps."""

import signal

import pytest

from recipeflow.errors import TrainingInterruptedError
from recipeflow.training.stopping import SIGNALS, CheckpointClock, catching_signals


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_is_noted_and_the_second_acts_at_once(number):
    noted, acted = [], []
    previous = signal.signal(number, lambda *arguments: acted.append(number))
    try:
        with catching_signals(noted.append):
            signal.raise_signal(number)
            assert (noted, acted) == ([number], [])
            signal.raise_signal(number)
            assert (noted, acted) == ([number], [number])
        signal.raise_signal(number)
        assert (noted, acted) == ([number], [number, number])
    finally:
        signal.signal(number, previous)


def test_what_a_launcher_passes_on_is_not_a_second_signal(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    noted = []
    with catching_signals(noted.append):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)  # would be a KeyboardInterrupt
        monkeypatch.setattr("recipeflow.training.stopping.time.monotonic", lambda: float("inf"))
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert noted == [signal.SIGINT]


def test_a_signal_that_comes_after_all_processes_have_agreed_to_stop_is_not_a_second_one(monkeypatch):
    """Each process of a killed launcher notices that by itself, and the first one stops all."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    previous, noted = signal.getsignal(signal.SIGINT), []
    try:
        with pytest.raises(TrainingInterruptedError), catching_signals(noted.append):
            raise TrainingInterruptedError("stopped by SIGTERM", signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)  # would be a KeyboardInterrupt
        monkeypatch.setattr("recipeflow.training.stopping.time.monotonic", lambda: float("inf"))
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) == previous and noted == []
    finally:
        for number in SIGNALS:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def test_a_clock_without_minutes_never_asks_for_a_checkpoint(monkeypatch):
    clocks = [CheckpointClock(minutes) for minutes in (0, 5)]
    assert [clock.is_due() for clock in clocks] == [False, False]
    monkeypatch.setattr("recipeflow.training.stopping.time.monotonic", lambda: float("inf"))
    assert [clock.is_due() for clock in clocks] == [False, True]
