"""Data sets that are generated from a seed: exactly what they are, no matter where."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Iterator, Literal

from ipulse_core.errors import Problem
from ipulse_core.schema import described

MAX_SPIKES = 2**27  # of a data set: half a gigabyte
MAX_TERMS = 2**32  # random numbers or sines that generating may take: some minutes


@dataclass(frozen=True)
class Generated:
    """A data set that is made from a seed, the same everywhere."""

    kind: str = ""
    steps: int = described("Time steps of one sample.", default=50, ge=1, le=10_000)
    step_ms: float = described("Width of one time step.", default=1.0, gt=0.0, le=1000.0, unit="ms")
    samples_per_class: int = described("Samples of each class.", default=300, ge=2, le=100_000)
    seed: int = described(
        "Decides the data and which of it is held out, whatever the experiment's seed.",
        default=0,
        ge=0,
        le=2**31 - 1,
    )
    test_fraction: float = described(
        "Share of the samples held out for the test accuracy.", default=0.2, ge=0.05, le=0.5
    )


@dataclass(frozen=True)
class RandmanData(Generated):
    """Random smooth manifolds: a class is told by when its units spike, and by nothing else.

    A sample is a random point of its class's manifold, and every unit spikes at the time that a
    random smooth function of this point gives, so each unit spikes equally often in all classes.
    """

    words = "smooth random manifolds"

    kind: Literal["randman"] = described("Which data set.", default="randman")
    classes: int = described("Manifolds.", default=10, ge=2, le=1000)
    units: int = described("Input channels.", default=50, ge=1, le=4096)
    dimensions: int = described("Dimensions of a manifold.", default=1, ge=1, le=8)
    smoothness: float = described(
        "The amplitude of the n-th frequency falls as n^-smoothness.", default=2.0, ge=0.5, le=10.0
    )
    spikes: int = described(
        "Spikes of a unit, each with functions of its own.", default=1, ge=1, le=64
    )
    used_steps: float = described(
        "Share of the steps, from the first, in which there are spikes.",
        default=1.0,
        gt=0.0,
        le=1.0,
    )

    @property
    def inputs(self) -> int:
        return self.units

    @property
    def frequencies(self) -> int:
        """Terms of each function; the amplitudes of the rest are below a thousandth."""
        return min(math.ceil(10 ** (3 / self.smoothness)), 1000)

    def problems(self) -> Iterator[Problem]:
        values = self.classes * self.samples_per_class * self.units * self.spikes
        yield from _too_much(values, MAX_SPIKES, "spikes", "samples_per_class")
        sines = values * self.dimensions * self.frequencies
        yield from _too_much(sines, MAX_TERMS, "sines", "samples_per_class")


@dataclass(frozen=True)
class YinYangData:
    """Points in a yin-yang sign, to be told apart as yin, yang or dot: 5,000 to learn from.

    A point is (x, y, 1 - x, 1 - y), and a value v of it one spike at first_ms + v span_ms.
    """

    words = "points of a yin-yang sign"
    classes = 3

    kind: Literal["yin_yang"] = described("Which data set.", default="yin_yang")
    steps: int = described(
        "Time steps of one sample; later spikes are dropped.", default=40, ge=1, le=10_000
    )
    step_ms: float = described("Width of one time step.", default=1.0, gt=0.0, le=1000.0, unit="ms")
    first_ms: float = described("When a 0 spikes.", default=0.0, ge=0.0, le=1e6, unit="ms")
    span_ms: float = described(
        "How much later a 1 spikes.", default=30.0, gt=0.0, le=1e6, unit="ms"
    )
    bias: bool = described("Whether a fifth channel spikes at first_ms.", default=True)
    judged_on: Literal["test", "validation"] = described(
        "The 1,000 samples held out: the test set, or the other one, to choose settings by.",
        default="test",
    )

    @property
    def inputs(self) -> int:
        return 5 if self.bias else 4


@dataclass(frozen=True)
class PoissonData(Generated):
    """Poisson spikes whose rates tell the class: each class has a group of channels at high rate.

    The channels are cut into as many groups of neighbours as there are classes.
    """

    words = "Poisson rate patterns"

    kind: Literal["poisson"] = described("Which data set.", default="poisson")
    classes: int = described("Rate patterns.", default=4, ge=2, le=1000)
    channels: int = described("Input channels.", default=64, ge=1, le=65_536)
    high_rate: float = described(
        "Probability of a spike in a step, in the group of the class.", default=0.5, ge=0.0, le=1.0
    )
    low_rate: float = described(
        "Probability of a spike in a step, in the other groups.", default=0.05, ge=0.0, le=1.0
    )
    steps: int = described("Time steps of one sample.", default=16, ge=1, le=10_000)

    @property
    def inputs(self) -> int:
        return self.channels

    def problems(self) -> Iterator[Problem]:
        draws = self.classes * self.samples_per_class * self.steps * self.channels
        yield from _too_much(draws, MAX_TERMS, "random numbers", "samples_per_class")
        spikes = round(draws * max(self.high_rate, self.low_rate))
        yield from _too_much(spikes, MAX_SPIKES, "spikes", "samples_per_class")


@dataclass(frozen=True)
class FrozenNoiseData(Generated):
    """Frozen Poisson noise: every class has templates, a sample is a template with jitter.

    All templates have the same rate, so that only the spikes' times tell the class.
    """

    words = "frozen noise"

    kind: Literal["frozen_noise"] = described("Which data set.", default="frozen_noise")
    classes: int = described("Classes.", default=2, ge=2, le=1000)
    channels: int = described("Input channels.", default=100, ge=1, le=65_536)
    templates: int = described("Templates of a class.", default=1, ge=1, le=100_000)
    rate_hz: float = described(
        "Spikes of a channel per second.", default=5.0, gt=0.0, le=1e6, unit="Hz"
    )
    jitter_ms: float = described(
        "Standard deviation of a spike's time.", default=2.0, ge=0.0, le=1e6, unit="ms"
    )
    samples_per_class: int = described(
        "Samples of each class, shared out among its templates.", default=200, ge=2, le=100_000
    )
    steps: int = described(
        "Time steps of one sample; what jitter takes out of them is dropped.",
        default=200,
        ge=1,
        le=10_000,
    )

    @property
    def inputs(self) -> int:
        return self.channels

    @property
    def spike_probability(self) -> float:
        """Of a channel in a step."""
        return min(1.0, self.rate_hz * self.step_ms / 1000.0)

    def problems(self) -> Iterator[Problem]:
        sites = self.classes * self.steps * self.channels
        yield from _too_much(self.templates * sites, MAX_TERMS, "random numbers", "templates")
        frozen = round(self.templates * sites * self.spike_probability)
        yield from _too_much(frozen, MAX_SPIKES, "spikes", "templates")
        spikes = round(self.samples_per_class * sites * self.spike_probability)
        yield from _too_much(spikes, MAX_SPIKES, "spikes", "samples_per_class")


def _too_much(number: int, most: int, what: str, field: str) -> Iterator[Problem]:
    if number > most:
        detail = f"this takes {number:,} {what}; at most {most:,} are allowed"
        yield Problem(f"/{field}", "too_large", detail)
