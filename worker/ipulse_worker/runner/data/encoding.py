"""Encodes values in [0, 1] as spikes; ipulse.spec describes the codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ipulse_ops.exact_math import exp, log
from ipulse_worker.runner.data.time_steps import step_of
from ipulse_worker.runner.randomness import Purpose, stream

if TYPE_CHECKING:
    from ipulse.spec import Encoding, LogLatency, PopulationCode, RateCode


class Events(NamedTuple):
    """One entry per event, integer arrays `[events]`. Steps may be out of range."""

    sample: np.ndarray
    step: np.ndarray
    channel: np.ndarray


def encode(
    values: np.ndarray, encoding: Encoding, steps: int, step_ms: float, first: int = 0
) -> Events:
    """Encode values, float64 `[samples, values]` in [0, 1].

    The channels of value v begin at v * channels_per_value. `first` is the number of the first
    sample in its data set.
    """
    if encoding.kind == "rate":
        return _bernoulli(values, encoding, steps, first)
    if encoding.kind == "log_latency":
        return _at(log_latency_ms(values, encoding), step_ms)
    if encoding.kind == "linear_latency":
        duration_ms = steps * step_ms
        return _at(np.where(values > 0.0, (1.0 - values) * duration_ms, np.nan), step_ms)
    activation = receptive_fields(values, encoding).reshape(len(values), -1)
    late = (1.0 - activation) * (steps * step_ms)
    return _at(np.where(activation >= encoding.threshold, late, np.nan), step_ms)


def log_latency_ms(values: np.ndarray, encoding: LogLatency) -> np.ndarray:
    """Return the time of each value's spike, float64 like `values`; NaN for no spike."""
    charged = values > encoding.threshold
    x = np.where(charged, values, 1.0)  # the 1 is masked below; it keeps the log finite
    latency: np.ndarray = encoding.tau_eff_ms * log(x / (x - encoding.threshold))
    return np.where(charged, latency, np.nan)


def receptive_fields(values: np.ndarray, encoding: PopulationCode) -> np.ndarray:
    """Return activations, float64 `[samples, values, fields]` in [0, 1]."""
    centres = np.arange(encoding.fields) / (encoding.fields - 1)
    sigma = encoding.width / (encoding.fields - 1)
    exponent = -((values[:, :, None] - centres) ** 2) / (2.0 * sigma**2)
    activation = exp(np.maximum(exponent, -700.0))
    return activation


def _at(time_ms: np.ndarray, step_ms: float) -> Events:
    """Return one event per time that is not NaN; times are `[samples, channels]`."""
    sample, channel = np.nonzero(~np.isnan(time_ms))
    return Events(sample, step_of(time_ms[sample, channel], step_ms), channel)


def _bernoulli(values: np.ndarray, encoding: RateCode, steps: int, first: int) -> Events:
    found = []
    for sample, row in enumerate(values):
        # Each sample has a stream of its own, so that its spikes do not depend on the others.
        random = stream(Purpose.RATE_CODE, encoding.seed, first + sample)
        step, channel = np.nonzero(
            random.random_sample((steps, len(row))) < row * encoding.max_rate
        )
        found.append(Events(np.full(len(step), sample), step, channel))
    return Events(*(np.concatenate(parts) for parts in zip(*found)))
