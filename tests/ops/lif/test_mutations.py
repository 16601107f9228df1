"""The proofs notice every mistake: each equation of the reference, made wrong, fails one of them.

A mutation changes one place of one module's source; the changed module is run on problems of every
variant, and must differ from the plain loops, from its own replay, or from the smooth twin.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from types import ModuleType
from typing import Any, List, Tuple

import numpy as np
import pytest

from ipulse_ops.lif.reference import network_pass as reference
from tests.ops.lif.loops import simulate
from tests.ops.lif.smooth import error_and_size_in_a_direction
from tests.ops.lif.variants import eventful, varied
from tests.ops.strategies import SURROGATES, Problem

MUTATIONS = (
    ("ipulse_ops.lif.reference.dynamics", "u - threshold * flag", "u - flag"),
    ("ipulse_ops.lif.reference.dynamics", "np.where(flag, 0, u)", "np.where(flag, u, 0)"),
    ("ipulse_ops.lif.reference.dynamics", 'reset_on == "state"', 'reset_on == "emission"'),
    (
        "ipulse_ops.lif.reference.dynamics",
        "spike_counts[before, :, 0]",
        "spike_counts[before, :, 1]",
    ),
    ("ipulse_ops.lif.reference.dynamics", "(1 - decay) * current", "current"),
    ("ipulse_ops.lif.reference.dynamics", "current_scale(self.decay, self.gain)", "self.gain"),
    (
        "ipulse_ops.lif.reference.dynamics",
        "current_scale(self.decay, self.gain)",
        "self.gain * (1 - self.decay)",
    ),
    (
        "ipulse_ops.lif.reference.adjoint",
        "scale_by_decay(constants.decay, constants.gain)",
        "-constants.gain",
    ),
    ("ipulse_ops.lif.reference.dynamics", "else offsets[t]", "else offsets[0]"),
    (
        "ipulse_ops.lif.reference.dynamics",
        "cyclic_offsets(seed, number,",
        "cyclic_offsets(seed, 0,",
    ),
    (
        "ipulse_ops.lif.reference.dynamics",
        "cyclic_offsets(seed, number,",
        "cyclic_offsets(0, number,",
    ),
    ("ipulse_ops.lif.reference.dynamics", "seen | (unseen & spiking)", "seen"),
    ("ipulse_ops.lif.reference.dynamics", "seen | (unseen & spiking)", "seen | unseen"),
    ("ipulse_ops.lif.reference.dynamics", "phi(u - threshold)", "phi(u)"),
    ("ipulse_ops.lif.reference.dynamics", "current[t] += weights.bias", "pass"),
    ("ipulse_ops.lif.reference.dynamics", "current += weights.bias", "pass"),
    (
        "ipulse_ops.lif.reference.dynamics",
        "constants.threshold + constants.adaptation_strength * b",
        "constants.threshold + b",
    ),
    (
        "ipulse_ops.lif.reference.dynamics",
        "second + constants.adaptation_strength * b",
        "second",
    ),
    (
        "ipulse_ops.lif.reference.dynamics",
        "constants.adaptation_decay * b + flag",
        "constants.adaptation_decay * (b + flag)",
    ),
    (
        "ipulse_ops.lif.reference.adjoint",
        "constants.threshold + constants.adaptation_strength * b[:-1]",
        "constants.threshold + constants.adaptation_strength * b[1:]",
    ),
    ("ipulse_ops.lif.reference.adjoint", "e = e + grad_b", "e = e + 0 * grad_b"),
    ("ipulse_ops.lif.reference.adjoint", " and not layer.detach_adaptation", ""),
    ("ipulse_ops.lif.reference.adjoint", "constants.adaptation_decay * grad_b", "grad_b"),
    ("ipulse_ops.lif.reference.adjoint", "constants.adaptation_strength * tau", "tau"),
    (
        "ipulse_ops.lif.reference.adjoint",
        "+= tau * b[t]",
        "+= tau * b[t + 1]",
    ),
    ("ipulse_ops.lif.reference.adjoint", "+= grad_b * b[t]", "+= grad_b * b[t + 1]"),
    ("ipulse_ops.lif.reference.adjoint", "v_by_r[t] * grad_v", "0 * grad_v"),
    ("ipulse_ops.lif.reference.adjoint", "v_by_u[t] * grad_v", "grad_v"),
    ("ipulse_ops.lif.reference.adjoint", " + grad_u[t]", ""),
    ("ipulse_ops.lif.reference.adjoint", "@ recurrent.T", "@ recurrent"),
    ("ipulse_ops.lif.reference.adjoint", "+ constants.synapse_decay * grad_i", "+ grad_i"),
    ("ipulse_ops.lif.reference.adjoint", "(1 - constants.synapse_decay) * grad_i", "grad_i"),
    ("ipulse_ops.lif.reference.adjoint", "constants.gain) * i[t + 1]", "constants.gain) * i[t]"),
    (
        "ipulse_ops.lif.reference.adjoint",
        " + scale_by_decay(constants.decay, constants.gain) * i[t + 1]",
        "",
    ),
    ("ipulse_ops.lif.reference.adjoint", "v_by_threshold[t] * grad_v - run.phi", "-run.phi"),
    ("ipulse_ops.lif.reference.adjoint", "grad_v - run.phi[t] * e", "grad_v"),
    ("ipulse_ops.lif.reference.adjoint", "(i[t] - run.current[t])", "i[t]"),
    ("ipulse_ops.lif.reference.adjoint", "constants.decay * total", "total"),
    (
        "ipulse_ops.lif.reference.adjoint",
        "later(spike_counts[..., 0], 1)",
        "later(spike_counts[..., 1], 1)",
    ),
    ("ipulse_ops.lif.reference.adjoint", "(1 - reset, -u, zeros)", "(1 - reset, u, zeros)"),
    (
        "ipulse_ops.lif.reference.adjoint",
        "(ones, zeros - threshold, -reset)",
        "(ones, zeros - threshold, zeros)",
    ),
    (
        "ipulse_ops.lif.reference.adjoint",
        "(ones, zeros - threshold, -reset)",
        "(ones, zeros - 1, -reset)",
    ),
    (
        "ipulse_ops.lif.reference.adjoint",
        "return by_u, zeros, by_threshold",
        "return by_u, by_r, by_threshold",
    ),
    (
        "ipulse_ops.lif.reference.adjoint",
        "return by_u, zeros, by_threshold",
        "return by_u, zeros, zeros",
    ),
    ("ipulse_ops.lif.reference.adjoint", "return ones, zeros, zeros", "return by_u, zeros, zeros"),
    (
        "ipulse_ops.lif.reference.adjoint",
        "return ones, zeros, zeros",
        "return ones, zeros, by_threshold",
    ),
    ("ipulse_ops.lif.reference.adjoint", "axis=(0, 1)", "axis=(0, 1)) * (1 + 1e-9"),
    ("ipulse_ops.lif.reference.adjoint", "(t + 1) % network.truncate", "t % network.truncate"),
    ("ipulse_ops.lif.reference.adjoint", "not None and not is_cut", "not None"),
    ("ipulse_ops.lif.reference.adjoint", "arriving + run.grad_spikes", "arriving"),
    ("ipulse_ops.lif.reference.adjoint", "arriving + run.grad_spikes", "run.grad_spikes"),
    (
        "ipulse_ops.lif.reference.network_pass",
        "by_senders, network.delays[number])",
        "by_senders, 0)",
    ),
    (
        "ipulse_ops.lif.reference.network_pass",
        "by_senders, network.delays[number])",
        "by_senders, network.delays[-1])",
    ),
    ("ipulse_ops.lif.reference.network_pass", "later(counts, delay)", "later(counts, 0)"),
)


@lru_cache(maxsize=None)
def proving() -> Tuple[Tuple[Problem, Any], ...]:
    """Problems of every variant, and what the plain loops make of them."""
    problems: List[Problem] = []
    resets = [(r, g) for r in ("zero", "subtract") for g in ("none", "mask", "term")]
    for number, (reset, reset_gradient) in enumerate([*resets, ("none", "none")]):
        for policy in ("index", "cyclic", "top"):
            fields = {"capacity": 3, "policy": policy, "recurrent": True, "bias": True}
            network = varied(
                2,
                number % 2 == 0,
                number % 3 == 0,
                {**fields, "synapse": True, "adapts": True, "detaches": number % 4 == 3},
                reset=reset,
                reset_gradient=reset_gradient,
                reset_on="emission" if policy == "top" else "state",
                delay=(number % 3, number % 2, 2) if number else 0,
                truncate=None if number else 2,
                surrogate=SURROGATES[0],
            )
            problems.append(eventful(network, drops=True)[0])
    return tuple((problem, simulate(problem)) for problem in problems)


def proofs_hold(module: Any) -> bool:
    """Return True if `forward` and `backward` of a module pass all checks on all problems."""
    return all(_holds(module, problem, *expected) for problem, expected in proving())


def _holds(module: Any, problem: Problem, membrane: np.ndarray, u: Any, slots: Any) -> bool:
    p = problem
    arguments = (p.network, p.weights, p.ids, p.counts)
    trace = module.forward(*arguments, seed=p.seed)
    same = np.array_equal(trace.membrane, membrane)
    for number, layer in enumerate(trace.layers):
        same = same and np.array_equal(layer.u, u[number])
        for t, b in np.ndindex(*p.counts.shape):
            spikes, filled = layer.spike_counts[t, b]
            ids, expected = layer.spike_ids[t, b].tolist(), slots[number, t, b]
            same = same and ids[:spikes] == expected.spiking
            same = same and ids[spikes:filled] == expected.gradient_only
    replay = [(layer.spike_ids, layer.spike_counts) for layer in trace.layers]
    again = module.forward(*arguments, replay, p.seed)
    same = same and all(
        np.array_equal(getattr(one, name), getattr(two, name))
        for one, two in zip(trace.layers, again.layers)
        for name in ("u", "reset", "dropped", "surrogate")
    )
    if not same:
        return False
    actual = module.backward(*arguments, trace, p.grad_membrane, p.grad_spikes, p.grad_u)
    error, size = error_and_size_in_a_direction(p, trace, actual)
    return error < 1e-12 * size


def mutated(name: str, old: str, new: str) -> ModuleType:
    """A copy of a module with one place of its source changed."""
    original = importlib.import_module(name)
    with open(str(original.__file__), encoding="utf-8") as file:
        source = file.read()
    assert source.count(old) == 1, f"{old!r} must be one place of {name}"
    module = ModuleType(name)
    exec(compile(source.replace(old, new), name, "exec"), module.__dict__)  # noqa: S102 (ours)
    return module


class TestMutations:
    def test_proofs_hold_for_what_is_right(self) -> None:
        assert proofs_hold(reference)

    @pytest.mark.parametrize(("name", "old", "new"), MUTATIONS)
    def test_proofs_fail_for_what_is_wrong(
        self, name: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        proving()  # by the unchanged reference
        module = mutated(name, old, new)
        if name == "ipulse_ops.lif.reference.network_pass":
            assert not proofs_hold(module)
            return
        used = [name for name in vars(reference) if callable(getattr(module, name, None))]
        for function in used:
            monkeypatch.setattr(reference, function, getattr(module, function))
        if name == "ipulse_ops.lif.reference.dynamics":
            adjoint = importlib.import_module("ipulse_ops.lif.reference.adjoint")
            for function in (
                *("adaptation_after", "after_reset"),
                *("constants_of", "synaptic_current"),
            ):
                monkeypatch.setattr(adjoint, function, getattr(module, function))
        assert not proofs_hold(reference)
