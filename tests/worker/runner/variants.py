"""Short trainings that use each field of network, training and device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

from ipulse_worker.runner.training.loop import Training

from .trainings import spec_of, training_of

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

HIDDEN = {"neurons": 20}
SPIKING = {"kind": "spiking"}
INT4 = {"bits": 4, "scale": "layer", "power_of_two": True}
PER_NEURON = [0.9 + 0.004 * n for n in range(20)]
CONV = {"kind": "conv2d", "filters": 4, "kernel_size": 3}
ADAPTIVE = {
    "name": "adaptive",
    "states": [
        {"name": "u", "update": "decay * u + 2 * I", "reset": "where(r, 0, u)"},
        {"name": "a", "reset": "0.9 * a + r"},
    ],
    "parameters": [
        {"name": "decay", "value": 0.9, "minimum": 0, "maximum": 0.99, "trainable": True},
    ],
    "spike": "u - (1 + 0.1 * a)",
}
MARGIN = {
    "kind": "equations",
    "name": "margin",
    "values": [
        {"name": "score", "value": "log_softmax(mean_over_time(membrane) / 3)"},
        {"name": "right", "value": "sum(label * score)"},
    ],
    "loss": "square(max(0, 1 - right)) / classes",
}


def network(**changes: Any) -> Dict[str, Any]:
    return {"network": {"layers": [HIDDEN], **changes}}


def layer(**changes: Any) -> Dict[str, Any]:
    return {"network": {"layers": [{**HIDDEN, **changes}, {"neurons": 12}]}}


def training(**changes: Any) -> Dict[str, Any]:
    return {**network(), "training": changes}


def spiking(loss: str, **readout: Any) -> Dict[str, Any]:
    return {**network(readout={**SPIKING, **readout}), "training": {"loss": loss}}


VARIANTS: Dict[str, Dict[str, Any]] = {
    "reset subtract": network(reset="subtract"),
    "reset none": network(reset="none"),
    "reset gradient term": network(reset_gradient="term"),
    "reset gradient none": network(reset_gradient="none"),
    "delay": network(delay=1),
    "delays of layers": network(layers=[{**HIDDEN, "delay": 3}, {"neurons": 12}], delay=2),
    "reset on emission": {
        "network": {"layers": [{**HIDDEN, "capacity": 3}], "reset_on": "emission"}
    },
    "recurrent": layer(recurrent=True),
    "bias": layer(bias=True),
    "bias of the readout": network(readout={"bias": True}),
    "integrate and fire": network(
        layers=[{**HIDDEN, "decay": 1.0, "gain": 1.0}], readout={"decay": 1.0, "gain": 0.1}
    ),
    "synapse": layer(synapse_decay=0.8),
    "adaptive thresholds": layer(
        adaptation={"strength": PER_NEURON, "decay": 0.9}, recurrent=True, second_threshold=0.5
    ),
    "synapse of the readout": network(readout={"synapse_decay": [0.1 * n for n in range(10)]}),
    "constants of each neuron": layer(decay=PER_NEURON, threshold=PER_NEURON),
    "gates of each neuron": layer(second_threshold=[0.01 * n for n in range(20)]),
    "dropout": network(
        layers=[{**HIDDEN, "dropout": 0.1}, {"neurons": 12, "dropout": 0.5}],
        readout={"dropout": 0.2},
    ),
    "residual additions": network(
        layers=[HIDDEN, HIDDEN, {"neurons": 20, "residual": [1]}],
        readout={"residual": [2, 1]},
        delay=1,
    ),
    "delays of synapses": network(
        layers=[{**HIDDEN, "delays": {"longest": 3}}, {"neurons": 12, "recurrent": True}],
        readout={"delays": {"longest": 2}},
    ),
    "trained delays": network(
        layers=[{**HIDDEN, "delays": {"per": "neuron", "longest": 3, "rounded": True}}],
        readout={"delays": {"per": "neuron", "longest": 2}, "quantisation": {"bits": 8}},
    ),
    "standardised weights": network(
        layers=[{**HIDDEN, "standardised": True, "bias": True}],
        readout={"standardised": True, "quantisation": {"bits": 8}},
    ),
    "dropout before a spiking readout": spiking("spike_count_mse", dropout=0.3, bias=True),
    "policy cyclic": layer(capacity=4, policy="cyclic"),
    "policy top": layer(capacity=4, policy="top"),
    "growing capacity": layer(capacity={"grow": 2, "most": 15}, second_threshold=0.5),
    "arctan": network(surrogate={"name": "arctan", "slope": 5}),
    "boxcar": network(surrogate={"name": "boxcar", "half_width": 0.5}),
    "exponential": network(surrogate={"name": "exponential"}),
    "table": network(surrogate={"name": "table", "values": [0, 1, 0.5, 0], "width": 1}),
    "trainable": {
        "network": {
            "layers": [{**HIDDEN, "synapse_decay": 0.5}],
            "trainable": ["threshold", "decay", "synapse_decay"],
        }
    },
    "trainable adaptation": {
        "network": {
            "layers": [{**HIDDEN, "adaptation": {"strength": 0.3, "detach": True}}],
            "trainable": ["adaptation_strength", "adaptation_decay"],
        }
    },
    "truncated": training(truncate_steps=6),
    "max of the membrane": training(loss="max_membrane_cross_entropy"),
    "each step": training(loss="step_cross_entropy"),
    "spike counts": spiking("spike_count_cross_entropy"),
    "squares of spike counts": {
        **network(readout=SPIKING),
        "training": {"loss": "spike_count_mse", "spike_targets": {"right": 6, "wrong": 1}},
    },
    "spiking recurrent readout": spiking("spike_count_mse", recurrent=True, bias=True),
    "last of the membrane": training(loss="last_membrane_cross_entropy"),
    "first spikes": {
        **network(readout=SPIKING),
        "training": {"loss": "first_spike_cross_entropy", "first_spike_ms": 3.0},
    },
    "own loss": training(loss=MARGIN),
    "bound of the membrane": training(
        regularisers=[{"kind": "membrane", "low": -0.3, "high": 0.7, "readout": True}]
    ),
    "augmentation": training(augmentation={"drop": 0.1, "jitter_ms": 1.5, "crop_pixels": 1}),
    "layers in equations": {
        "network": {"layers": [{**HIDDEN, "second_threshold": 0.5}, {"neurons": 12}]},
        "training": {
            "loss": {
                "kind": "equations",
                "loss": "-sum(label * log_softmax(last(membrane))) + mean(last(layers[1].spikes))",
            },
            "regularisers": [
                {"kind": "equations", "penalty": "mean(square(last(layers[0].membrane)))"}
            ],
        },
    },
    "lower bound": training(regularisers=[{"kind": "lower", "spikes": 2}]),
    "upper bound": training(regularisers=[{"kind": "upper", "spikes": 0.1, "power": 1}]),
    "sgd": training(optimizer={"kind": "sgd", "momentum": 0.5, "nesterov": True}),
    "adamw": training(optimizer={"kind": "adamw", "weight_decay": 0.1}),
    "clipped": training(gradient_clipping={"value": 0.01, "global_norm": 0.1}),
    "cosine": training(schedule={"shape": "cosine", "warmup_steps": 2}),
    "early stopping": training(early_stopping={"patience": 1}),
    "bfloat16": {**network(), "device": {"weights_dtype": "bfloat16"}},
    "int8": layer(quantisation={}),
    "int4 by layer": network(
        layers=[{**HIDDEN, "recurrent": True, "bias": True, "quantisation": INT4}],
        readout={"quantisation": INT4},
    ),
    "equations": network(
        layers=[{"kind": "equations", "neurons": 20, "neuron": ADAPTIVE}, {"neurons": 12}]
    ),
    "convolutions": network(
        layers=[
            {**CONV, "padding": "same", "bias": True, "pool": {"kind": "sum"}},
            {**CONV, "filters": 6, "pool": {"kind": "average"}, "second_threshold": 0.5},
            HIDDEN,
        ]
    ),
    "standardised convolutions": network(
        layers=[{**CONV, "standardised": True, "strides": 2}, HIDDEN],
        readout={"standardised": True},
    ),
    "int4 convolutions": network(layers=[{**CONV, "quantisation": INT4}, HIDDEN]),
    "recompute": {**network(), "device": {"memory": "recompute"}},
}


def spec_with(changes: Dict[str, Any]) -> ExperimentSpec:
    """Return the spec of a variant: 2 epochs of 20 steps on 120 samples."""
    short = {"epochs": 2, "batch_size": 48, **changes.get("training", {})}
    return spec_of(**{**changes, "training": short, "data": {"samples": 120, "steps": 20}})


def started(changes: Dict[str, Any]) -> Training:
    """Return the training of a variant, ready for its first step."""
    return training_of(spec_with(changes))
