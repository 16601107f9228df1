"""The proof of dropout and residual additions notices every mistake in the reference."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Tuple

import pytest

from ipulse_ops.lif.reference import network_pass as reference
from tests.ops.lif.smooth import error_and_size_in_a_direction
from tests.ops.lif.test_mutations import mutated
from tests.ops.lif.variants import eventful, residual_network, with_gradient_only
from tests.ops.strategies import Problem

SENDERS = "ipulse_ops.lif.reference.senders"
PASS = "ipulse_ops.lif.reference.network_pass"  # noqa: S105 (a module)
MUTATIONS = (
    (SENDERS, "input=self.scale * weights.input", "input=weights.input"),
    (SENDERS, "received_spikes(*sent, self.kept)", "sent"),
    (SENDERS, "gradient * self.kept", "gradient"),
    (SENDERS, "input=self.scale * gradient.input", "input=gradient.input"),
    (SENDERS, "kept_senders(dropout_seed, number,", "kept_senders(dropout_seed, 0,"),
    (SENDERS, "kept_senders(dropout_seed, number,", "kept_senders(0, number,"),
    (PASS, "for source in network.senders(number):", "for source in (number - 1,):"),
    (PASS, "arriving[source + 1] += by_senders", "arriving[source + 1] = by_senders"),
    (PASS, "earlier(by_senders, network.delays[number])", "by_senders"),
    (PASS, "for source in network.senders(number)]", "for source in (number - 1,)]"),
)


@lru_cache(maxsize=None)
def problems() -> Tuple[Problem, ...]:
    networks = [
        residual_network(readout, (0.2, 0.3, 0.4, 0.3), delay=delay, reset_gradient="none")
        for readout, delay in ((False, 1), (True, 0))
    ]
    return tuple(with_gradient_only(eventful(network, drops=False)[0]) for network in networks)


def proof_holds(module: Any) -> bool:
    for p in problems():
        arguments = (p.network, p.weights, p.ids, p.counts)
        trace = module.forward(*arguments, seed=p.seed, dropout_seed=p.seed)
        gradients = (p.grad_membrane, p.grad_spikes, p.grad_u)
        actual = module.backward(*arguments, trace, *gradients, dropout_seed=p.seed)
        error, size = error_and_size_in_a_direction(p, trace, actual)
        if not error < 1e-12 * size:
            return False
    return True


def test_the_proof_holds_for_what_is_right() -> None:
    assert proof_holds(reference)


@pytest.mark.parametrize(("name", "old", "new"), MUTATIONS)
def test_the_proof_fails_for_what_is_wrong(
    name: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems()  # by the unchanged reference
    module = mutated(name, old, new)
    if name == PASS:
        assert not proof_holds(module)
        return
    monkeypatch.setattr(reference, "senders_in_training", module.senders_in_training)
    assert not proof_holds(reference)
