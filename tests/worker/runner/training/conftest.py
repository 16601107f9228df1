"""A training that nothing disturbs, and requests to stop."""

from __future__ import annotations

import signal
from typing import Iterator

import pytest

from ipulse_worker.runner.cancellation import Cancellation
from ipulse_worker.runner.training.loop import Training
from tests.worker.runner.training.runs import EVERYTHING, run
from tests.worker.runner.trainings import training_of


@pytest.fixture
def cancellation() -> Iterator[Cancellation]:
    before = signal.getsignal(signal.SIGTERM)
    request = Cancellation()
    request.defer()
    yield request
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def undisturbed() -> Training:
    training = training_of(EVERYTHING)
    run(training, Cancellation())
    return training
