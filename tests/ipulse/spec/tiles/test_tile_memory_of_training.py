"""The prediction of a tile's memory for training steps on the device, and what is compiled."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.spec import parse_spec
from ipulse.spec.tile_fit import tile_fit
from ipulse_worker.runner.model.emulated_model import EmulatedModel, training_op
from poplar_emulator.user_op import EmulatedIPUs
from tests.losses import margin
from tests.worker.runner.emulated import ipu_spec
from tests.worker.runner.specs import spec_from

LOSSES = {
    "mean": "mean_membrane_cross_entropy",
    "last": "last_membrane_cross_entropy",
    "step": "step_cross_entropy",
}
# tiles, steps, classes, batch, neurons
FEW, READOUT, OF_LOSS = (16, 20, 10, 16, 64), (64, 100, 2, 16, 32), (256, 100, 10, 32, 128)
MANY_CLASSES, LONG = (12, 100, 40, 16, 16), (12, 100, 10, 32, 16)


def fullest_tile(
    loss: Any, sizes: tuple[int, int, int, int, int], **training: Any
) -> tuple[int, int]:
    """Returns the bytes of the fullest tile: as predicted, and as compiled."""
    tiles, steps, classes, batch, neurons = sizes
    data = {"classes": classes, "units": 16, "steps": steps, "samples_per_class": batch}
    document = ipu_spec(
        {"kind": "emulator", "tiles": tiles, "training": "device"},
        data={"kind": "randman", **data},
        network={"layers": [{"neurons": neurons}]},
        training={"epochs": 1, "batch_size": batch, "loss": loss, **training},
    )
    spec, ipus = spec_from(document), EmulatedIPUs(1, tiles)
    EmulatedModel(spec, 16, 1, ipus, training_op(spec)).trace()
    compiled = max(
        tile["memory"]["total"]["includingGaps"]
        for profile in ipus.profiles()
        for tile in profile["compilation"]["tiles"]
    )
    ipus.close()
    predicted = tile_fit(parse_spec(document))
    assert predicted is not None
    return predicted.fullest_tile_bytes, compiled


@pytest.mark.verify
@pytest.mark.parametrize(
    "sizes", [FEW, READOUT, OF_LOSS], ids=["few tiles", "the readout's tile", "a loss's tile"]
)
def test_an_own_loss_is_predicted_to_a_fifth(sizes: tuple[int, int, int, int, int]) -> None:
    predicted, compiled = fullest_tile(margin(), sizes)
    assert predicted == pytest.approx(compiled, rel=0.2)


REGULARISERS = {
    "spikes": {"kind": "lower", "spikes": 2.0},
    "membranes": {"kind": "membrane", "low": -1.0, "high": 1.0},
    "both": {"kind": "equations", "penalty": "mean(last(layers[0].spikes * layers[0].membrane))"},
}


@pytest.mark.verify
@pytest.mark.parametrize("name", REGULARISERS)
@pytest.mark.parametrize(
    "sizes", [FEW, READOUT, OF_LOSS], ids=["few tiles", "the readout's tile", "a loss's tile"]
)
def test_regularisers_are_predicted_to_a_fifth(
    name: str, sizes: tuple[int, int, int, int, int]
) -> None:
    loss, more = "mean_membrane_cross_entropy", {"regularisers": [REGULARISERS[name]]}
    predicted, compiled = fullest_tile(loss, sizes, **more)
    assert predicted == pytest.approx(compiled, rel=0.2)


@pytest.mark.verify
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "sizes",
    [FEW, READOUT, MANY_CLASSES, LONG],
    ids=["few tiles", "the readout's tile", "many classes", "long sequences"],
)
def test_other_losses_are_predicted_to_a_fifth(
    loss: str, sizes: tuple[int, int, int, int, int]
) -> None:
    predicted, compiled = fullest_tile(LOSSES[loss], sizes)
    assert predicted == pytest.approx(compiled, rel=0.2)
