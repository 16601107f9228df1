"""Training steps that run on emulated IPUs as a whole, against loss and update on the host."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import pytest

from ipulse_ops.lif.poplar.build import build
from ipulse_worker.runner.model.batches import StepResult, TrainingBatch
from ipulse_worker.runner.model.emulated_model import EmulatedModel, training_op
from ipulse_worker.runner.model.model import Model
from poplar_emulator.user_op import EmulatedIPUs
from tests.losses import loss_document, margin
from tests.worker.runner.emulated import ipu_spec
from tests.worker.runner.specs import spec_from

TILES, STEPS, SEED = 16, 3, 11

NETWORK: Dict[str, Any] = {
    "layers": [
        {"neurons": 12, "second_threshold": 0.5, "capacity": 6, "bias": True, "policy": "cyclic"},
        {"neurons": 7, "recurrent": True},
    ]
}
TRAININGS: List[Dict[str, Any]] = [
    {"optimizer": {"kind": "adam", "learning_rate": 0.01}},
    {
        "optimizer": {"kind": "adamw", "learning_rate": 0.01, "weight_decay": 0.1},
        "loss": "last_membrane_cross_entropy",
    },
    {"optimizer": {"kind": "sgd", "learning_rate": 0.5}, "loss": "step_cross_entropy"},
    {"optimizer": {"kind": "sgd", "learning_rate": 0.2, "momentum": 0.9, "nesterov": True}},
    {"optimizer": {"kind": "adam", "learning_rate": 0.01}, "loss": margin()},
]
OF_LAYERS = (
    "square(mean(last(layers[1].spikes))) + mean(mean_over_time(square(layers[0].membrane)))"
)
BOUNDS: List[Dict[str, Any]] = [
    {"kind": "lower", "spikes": 2.0, "strength": 0.1},
    {"kind": "upper", "spikes": 1.0, "strength": 0.05, "power": 2, "layers": [1]},
    {"kind": "upper", "spikes": 0.5, "strength": 0.05, "power": 1, "layers": [2]},
    {"kind": "membrane", "low": -0.2, "high": 0.4, "strength": 0.5, "readout": True},
    {"kind": "equations", "penalty": OF_LAYERS, "strength": 0.3},
]
# Losses and regularisers that equations compute on the tiles.
OBJECTIVES: Dict[str, Dict[str, Any]] = {
    "bounds": {"regularisers": BOUNDS},
    "maximum": {"loss": "max_membrane_cross_entropy"},
    "layers": {
        "loss": loss_document(f"-sum(label * log_softmax(last(readout.membrane))) + {OF_LAYERS}")
    },
    "spike counts": {
        "loss": "spike_count_mse",
        "regularisers": [{"kind": "lower", "spikes": 2.0, "strength": 0.1, "readout": True}],
    },
    "entropy of counts": {"loss": "spike_count_cross_entropy"},
}

# Networks and trainings of which the program on tiles has more than loss and update.
MORE: Dict[str, Tuple[Dict[str, Any], Dict[str, Any]]] = {
    "frozen layer": (
        {"layers": [{**NETWORK["layers"][0], "trainable": False}, NETWORK["layers"][1]]},
        {"optimizer": {"kind": "adamw", "learning_rate": 0.01, "weight_decay": 0.1}},
    ),
    "frozen readout": (
        {**NETWORK, "readout": {"trainable": False, "bias": True}},
        {"optimizer": {"kind": "sgd", "learning_rate": 0.2, "momentum": 0.9}},
    ),
    "values clipped": (NETWORK, {"gradient_clipping": {"value": 0.003}}),
    "norm clipped": (NETWORK, {"gradient_clipping": {"value": 0.01, "global_norm": 0.02}}),
    "norm within": (NETWORK, {"gradient_clipping": {"global_norm": 1e6}}),
    "adaptation": (
        {
            "layers": [
                {"neurons": 12, "adaptation": {"strength": 0.4, "decay": 0.8}},
                {"neurons": 7, "adaptation": {"strength": 0.2, "decay": 0.9}, "recurrent": True},
            ]
        },
        {},
    ),
    "truncation": (NETWORK, {"truncate_steps": 3}),
}


def regression_batch(number: int) -> TrainingBatch:
    """Return such a batch with targets of each step."""
    rng, found = np.random.default_rng([SEED, number]), batch(number)
    targets = rng.normal(size=(len(found.labels), 8, 2)).astype(np.float32)
    return found._replace(labels=targets)


def batch(number: int) -> TrainingBatch:
    """Return the batch of a training step; the last has fewer samples than the others."""
    rng = np.random.default_rng([SEED, number])
    samples = 5 if number == STEPS else 12
    ids = np.sort(rng.integers(0, 6, (8, samples, 4)), axis=2).astype(np.int32)
    counts = rng.integers(0, 5, (8, samples)).astype(np.int32)
    return TrainingBatch(ids, counts, rng.integers(0, 2, samples).astype(np.int32), 0.01)


def trained(model: Model, feed: Callable[[int], TrainingBatch] = batch) -> List[StepResult]:
    """Train STEPS steps from drawn weights."""
    rng = np.random.default_rng(SEED)
    model.weights = [rng.normal(0, 0.5, w.shape).astype(np.float32) for w in model.weights]
    model.feed(feed, 1)
    return [model.execute(step, lambda: 0.0).step_results[0] for step in range(1, STEPS + 1)]


@pytest.mark.parametrize(
    ("training", "memory"),
    [
        pytest.param(TRAININGS[0], "slots", id="adam"),
        pytest.param(TRAININGS[1], "recompute", id="adamw"),
        pytest.param(TRAININGS[2], "recompute", id="sgd"),
        pytest.param(TRAININGS[3], "slots", id="nesterov"),
        pytest.param(TRAININGS[4], "slots", id="own_loss", marks=pytest.mark.verify),
        pytest.param(OBJECTIVES["bounds"], "recompute", id="bounds"),
        *(
            pytest.param(training, memory, id=f"{name}, {memory}", marks=pytest.mark.verify)
            for name, training in OBJECTIVES.items()
            for memory in ("slots", "recompute")
        ),
    ],
)
def test_agrees_with_loss_and_update_on_the_host(training: Dict[str, Any], memory: str) -> None:
    kind = "spiking" if str(training.get("loss")).startswith("spike") else "leaky"
    agree_after_steps({**NETWORK, "readout": {"kind": kind}}, training, memory=memory)


@pytest.mark.parametrize("ipus", [1, pytest.param(2, marks=pytest.mark.verify)])
@pytest.mark.parametrize(("network", "training"), list(MORE.values()), ids=list(MORE))
def test_what_else_a_program_has_agrees_with_the_host(
    network: Dict[str, Any], training: Dict[str, Any], ipus: int
) -> None:
    agree_after_steps(network, training, ipus=ipus)


def agree_after_steps(network: Dict[str, Any], training: Dict[str, Any], **device: Any) -> None:
    """Compare training steps on the device with those on a CPU."""
    options = {"kind": "emulator", "tiles": TILES, "training": "device", **device}
    epochs = {"epochs": 1, "batch_size": 12, **training}
    spec = spec_from(ipu_spec(options, training=epochs, network=network))
    ipus = EmulatedIPUs(spec.device.ipus, TILES)
    on_device = EmulatedModel(spec, 4, 1, ipus, training_op(spec))
    on_cpu = Model(
        spec_from(ipu_spec({"kind": "cpu"}, training=epochs, network=network)), 4, 1, batch=12
    )
    for ours, theirs in zip(trained(on_device), trained(on_cpu)):
        np.testing.assert_allclose(ours.sums, theirs.sums, rtol=1e-5)
        np.testing.assert_array_equal(ours.max_spikes, theirs.max_spikes)
    for name, value in on_cpu.state().items():
        scale = max(float(np.abs(value).max(initial=0)), 1e-3)
        np.testing.assert_allclose(on_device.state()[name], value, rtol=0, atol=2e-5 * scale)


@pytest.mark.verify
def test_own_losses_of_targets_agree_with_the_host() -> None:
    loss = loss_document("mean_over_time(mean(abs(membrane - step_target)))")
    sizes = {"channels": 6, "outputs": 2, "steps": 8}
    changes: Dict[str, Any] = {
        "training": {"epochs": 1, "batch_size": 12, "loss": loss},
        "network": NETWORK,
        "data": {"kind": "npz", "name": "targets.npz", **sizes},
    }
    spec = spec_from(
        ipu_spec({"kind": "emulator", "tiles": TILES, "training": "device"}, **changes)
    )
    on_device = EmulatedModel(spec, 4, 1, EmulatedIPUs(1, TILES), training_op(spec))
    on_cpu = Model(spec_from(ipu_spec({"kind": "cpu"}, **changes)), 4, 1, batch=12)
    for ours, theirs in zip(
        trained(on_device, regression_batch), trained(on_cpu, regression_batch)
    ):
        np.testing.assert_allclose(ours.sums, theirs.sums, rtol=1e-5)
    for name, value in on_cpu.state().items():
        scale = max(float(np.abs(value).max(initial=0)), 1e-3)
        np.testing.assert_allclose(on_device.state()[name], value, rtol=0, atol=2e-5 * scale)


def after_a_step(**device: Any) -> List[np.ndarray]:
    """Return the weights after one step from weights that half represents."""
    rng = np.random.default_rng(SEED)
    options = {"kind": "emulator", "tiles": TILES, "training": "device", **device}
    training = {"epochs": 1, "batch_size": 12, "optimizer": {"kind": "adam"}}
    spec = spec_from(ipu_spec(options, training=training, network=NETWORK))
    model = EmulatedModel(spec, 4, 1, EmulatedIPUs(1, TILES), build())
    drawn = [rng.normal(0, 0.5, weight.shape) for weight in model.weights]
    model.weights = [weight.astype(np.float16).astype(np.float32) for weight in drawn]
    model.feed(batch, 1)
    model.execute(1, lambda: 0.0)
    return [weight for weight in model.weights if weight.ndim == 2]


def test_half_weights_are_the_rounded_ones_of_float32() -> None:
    """Sums are float32: only the updated weights are rounded, to the nearest."""
    exact = after_a_step()
    for rounded, weight in zip(after_a_step(weights_dtype="float16"), exact):
        np.testing.assert_array_equal(rounded, weight.astype(np.float16).astype(np.float32))


def test_stochastic_rounding_has_no_bias_and_repeats() -> None:
    exact = np.concatenate([weight.ravel() for weight in after_a_step()])
    half = {"weights_dtype": "float16", "stochastic_rounding": True}
    first, again = (
        np.concatenate([weight.ravel() for weight in after_a_step(**half)]) for _ in range(2)
    )
    assert first.tobytes() == again.tobytes()
    np.testing.assert_array_equal(first, first.astype(np.float16).astype(np.float32))
    ulp = np.spacing(np.abs(exact).astype(np.float16)).astype(np.float64)
    errors = (first.astype(np.float64) - exact) / ulp
    assert np.abs(errors).max() < 1.001  # one of the two neighbours
    assert np.abs(errors).max() > 0.6  # and not always the nearer one
    assert abs(errors.mean()) < 5 / np.sqrt(12 * len(errors)) + 0.02


def trained_on_device(**device: Any) -> Tuple[List[StepResult], Dict[str, np.ndarray], float]:
    """Return the steps, weights with the optimizer's state, and the cycles that tiles computed."""
    options = {"kind": "emulator", "tiles": TILES, "training": "device", **device}
    training = {"epochs": 1, "batch_size": 12, **TRAININGS[0]}
    spec = spec_from(ipu_spec(options, training=training, network=NETWORK))
    ipus = EmulatedIPUs(1, TILES)
    model = EmulatedModel(spec, 4, 1, ipus, build())
    steps = trained(model)
    (profile,) = ipus.profiles()
    computed = sum(total["computeCycles"] for total in profile["execution"]["totals"])
    return steps, model.state(), computed


@pytest.mark.parametrize("stochastic", [False, True], ids=["nearest", "stochastic"])
def test_recomputed_half_states_have_the_bits_of_stored_steps(stochastic: bool) -> None:
    half = {"states_dtype": "float16", "stochastic_rounding": stochastic}
    stored, expected, cycles = trained_on_device(**half)
    again, found, more_cycles = trained_on_device(**half, memory="recompute")
    for ours, theirs in zip(again, stored):
        assert ours.sums.tobytes() == theirs.sums.tobytes()
        np.testing.assert_array_equal(ours.max_spikes, theirs.max_spikes)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].tobytes() == value.tobytes(), name
    assert more_cycles > 1.1 * cycles  # steps do run again
    _, exact, _ = trained_on_device()
    assert any(found[name].tobytes() != value.tobytes() for name, value in exact.items())
