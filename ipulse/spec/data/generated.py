"""Data sets that are generated from a seed, identically on every machine."""

from collections.abc import Iterator
from typing import Any, Literal

from ipulse.models import Field, StrictModel, unit
from ipulse.spec.fields import Classes, Seed, StepMs, Steps, TestFraction, ValidationFraction
from ipulse_core.errors import Problem
from ipulse_core.limits import MAX_CHANNELS
from ipulse_core.spec.derived_values import frequencies, spike_probability

MAX_SPIKES = 2**27  # in a data set: half a gigabyte
MAX_TERMS = 2**32  # random numbers or sines to generate a data set: some minutes


class Generated(StrictModel):
    """Fields of a data set that is generated from a seed."""

    kind: str = ""
    steps: Steps = Field(default=50, description="Time steps of one sample.")
    step_ms: StepMs = 1.0
    samples_per_class: int = Field(
        default=300, ge=2, le=100_000, description="Samples of each class."
    )
    seed: Seed = Field(
        default=0,
        description="Seed of the data and of which samples are held out, independent of the "
        "experiment's seed.",
    )
    test_fraction: TestFraction = Field(
        default=0.2, description="Fraction of the samples held out for the test accuracy."
    )
    validation: ValidationFraction = 0.0


class RandmanData(Generated):
    """Random smooth manifolds: only the times of the spikes depend on the class.

    A sample is a random point of its class's manifold. Every unit spikes at the time that a random
    smooth function of this point gives, so each unit spikes equally often in all classes.
    """

    kind: Literal["randman"] = Field(default="randman", description="Data set.")
    classes: Classes = Field(default=10, description="Manifolds.")
    units: int = Field(default=50, ge=1, le=4096, description="Input channels.")
    dimensions: int = Field(default=1, ge=1, le=8, description="Dimensions of a manifold.")
    smoothness: float = Field(
        default=2.0,
        ge=0.5,
        le=10.0,
        description="The amplitude of the n-th frequency falls as n^-smoothness.",
    )
    spikes: int = Field(
        default=1, ge=1, le=64, description="Spikes per unit, each with functions of its own."
    )
    used_steps: float = Field(
        default=1.0,
        gt=0.0,
        le=1.0,
        description="Fraction of the steps, from the first, in which there are spikes.",
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a problem if generating the data takes too much time or memory."""
        values = self.classes * self.samples_per_class * self.units * self.spikes
        yield from _too_much(values, MAX_SPIKES, "spikes", "samples_per_class")
        sines = values * self.dimensions * frequencies(self)
        yield from _too_much(sines, MAX_TERMS, "sines", "samples_per_class")


class YinYangData(StrictModel):
    """Points in a yin-yang sign, classified as yin, yang or dot; 5,000 training samples.

    A point is (x, y, 1 - x, 1 - y). Each value v is one spike at first_ms + v span_ms.
    """

    kind: Literal["yin_yang"] = Field(default="yin_yang", description="Data set.")
    steps: Steps = Field(
        default=40, description="Time steps of one sample; later spikes are dropped."
    )
    step_ms: StepMs = 1.0
    first_ms: float = Field(
        default=0.0, ge=0.0, le=1e6, description="Spike time of 0.", json_schema_extra=unit("ms")
    )
    span_ms: float = Field(
        default=30.0,
        gt=0.0,
        le=1e6,
        description="Difference between the spike times of 1 and 0.",
        json_schema_extra=unit("ms"),
    )
    bias: bool = Field(default=True, description="Whether a fifth channel spikes at first_ms.")
    judged_on: Literal["test", "validation"] = Field(
        default="test",
        description="The 1,000 samples held out: the test set, or the validation set, to choose "
        "settings with.",
    )
    validation: ValidationFraction = 0.0

    def problems(self) -> Iterator[Problem]:
        """Yields a problem if there would be two validation parts."""
        yield from validation_problems(self)


class PoissonData(Generated):
    """Poisson spikes at rates that depend on the class.

    The channels are divided into as many groups of neighbours as there are classes. In a sample of
    a class, its group spikes at the high rate and the others at the low rate.
    """

    kind: Literal["poisson"] = Field(default="poisson", description="Data set.")
    classes: Classes = Field(default=4, description="Rate patterns.")
    channels: int = Field(default=64, ge=1, le=65_536, description="Input channels.")
    high_rate: float = Field(
        default=0.5,
        ge=0.0,
        le=1.0,
        description="Probability of a spike in a step, in the group of the class.",
    )
    low_rate: float = Field(
        default=0.05,
        ge=0.0,
        le=1.0,
        description="Probability of a spike in a step, in the other groups.",
    )
    steps: Steps = Field(default=16, description="Time steps of one sample.")

    def problems(self) -> Iterator[Problem]:
        """Yields a problem if generating the data takes too much time or memory."""
        draws = self.classes * self.samples_per_class * self.steps * self.channels
        yield from _too_much(draws, MAX_TERMS, "random numbers", "samples_per_class")
        spikes = round(draws * max(self.high_rate, self.low_rate))
        yield from _too_much(spikes, MAX_SPIKES, "spikes", "samples_per_class")


class FrozenNoiseData(Generated):
    """Frozen Poisson noise: every class has templates; a sample is a template with jitter.

    All templates have the same rate, so only the times of the spikes depend on the class.
    """

    kind: Literal["frozen_noise"] = Field(default="frozen_noise", description="Data set.")
    classes: Classes = Field(default=2, description="Classes.")
    channels: int = Field(default=100, ge=1, le=65_536, description="Input channels.")
    templates: int = Field(default=1, ge=1, le=100_000, description="Templates per class.")
    rate_hz: float = Field(
        default=5.0,
        gt=0.0,
        le=1e6,
        description="Spike rate of a channel.",
        json_schema_extra=unit("Hz"),
    )
    jitter_ms: float = Field(
        default=2.0,
        ge=0.0,
        le=1e6,
        description="Standard deviation of a spike's time.",
        json_schema_extra=unit("ms"),
    )
    samples_per_class: int = Field(
        default=200,
        ge=2,
        le=100_000,
        description="Samples of each class, divided among its templates.",
    )
    steps: Steps = Field(
        default=200,
        description="Time steps of one sample; spikes that jitter moves out of them are dropped.",
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a problem if generating the data takes too much time or memory."""
        sites = self.classes * self.steps * self.channels
        probability = spike_probability(self)
        yield from _too_much(self.templates * sites, MAX_TERMS, "random numbers", "templates")
        frozen = round(self.templates * sites * probability)
        yield from _too_much(frozen, MAX_SPIKES, "spikes", "templates")
        spikes = round(self.samples_per_class * sites * probability)
        yield from _too_much(spikes, MAX_SPIKES, "spikes", "samples_per_class")


class DelayedRecallData(Generated):
    """Two cues with a pause between them; the class is their sum, modulo the number of classes.

    A cue is a burst of spikes in the channels of its number, at the start and at the end of a
    sample. Neither cue alone says anything about the class: a network must remember the first one.
    """

    kind: Literal["delayed_recall"] = Field(default="delayed_recall", description="Data set.")
    classes: Classes = Field(default=2, description="Classes, and different cues.")
    units: int = Field(default=16, ge=1, le=4096, description="Input channels of each cue.")
    steps: Steps = Field(
        default=160, description="Time steps of one sample: two cues and the pause."
    )
    cue_steps: Steps = Field(default=20, description="Time steps of one cue.")
    rate: float = Field(
        default=0.2,
        gt=0.0,
        le=1.0,
        description="Probability of a spike in a step, in the channels of a cue.",
    )
    noise: float = Field(
        default=0.005,
        ge=0.0,
        le=1.0,
        description="Probability of a spike in a step, elsewhere.",
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a problem if cues overlap, or the data take too much time or memory."""
        if 2 * self.cue_steps > self.steps:
            detail = f"two cues do not fit into {self.steps:,} steps: lower it, or raise steps"
            yield Problem("/cue_steps", "inconsistent", detail)
        channels = self.classes * self.units
        yield from _too_much(channels, MAX_CHANNELS, "channels", "units")
        samples = self.classes * self.samples_per_class
        draws = samples * self.steps * channels
        yield from _too_much(draws, MAX_TERMS, "random numbers", "samples_per_class")
        cues = 2 * samples * self.cue_steps * self.units
        spikes = round(cues * self.rate + draws * self.noise)
        yield from _too_much(spikes, MAX_SPIKES, "spikes", "samples_per_class")


def validation_problems(data: Any) -> Iterator[Problem]:
    """Yields a problem if the data's own validation set is measured and a part is held out, too."""
    if data.judged_on == "validation" and data.validation:
        detail = (
            "judged_on: validation measures the validation set instead of the test set: give either"
        )
        yield Problem("/validation", "inconsistent", detail)


def _too_much(number: int, most: int, what: str, field: str) -> Iterator[Problem]:
    if number > most:
        detail = f"this needs {number:,} {what}; at most {most:,} are allowed"
        yield Problem(f"/{field}", "too_large", detail)
