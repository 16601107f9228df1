"""The prediction of a tile's memory for training steps on the device, and what is compiled."""

from __future__ import annotations

import pytest

from ipulse.spec import parse_spec
from ipulse.spec.tile_fit import tile_fit
from ipulse_worker.runner.model.emulated_model import EmulatedModel, training_op
from poplar_emulator.user_op import EmulatedIPUs
from tests.losses import margin
from tests.worker.runner.emulated import ipu_spec
from tests.worker.runner.specs import spec_from


@pytest.mark.verify
@pytest.mark.parametrize(
    ("tiles", "steps", "classes", "batch", "neurons"),
    [(16, 20, 10, 16, 64), (64, 100, 2, 16, 32), (256, 100, 10, 32, 128)],
    ids=["few tiles", "the readout's tile", "a loss's tile"],
)
def test_an_own_loss_is_predicted_to_a_fifth(
    tiles: int, steps: int, classes: int, batch: int, neurons: int
) -> None:
    sizes = {"classes": classes, "units": 16, "steps": steps, "samples_per_class": batch}
    document = ipu_spec(
        {"kind": "emulator", "tiles": tiles, "training": "device"},
        data={"kind": "randman", **sizes},
        network={"layers": [{"neurons": neurons}]},
        training={"epochs": 1, "batch_size": batch, "loss": margin()},
    )
    spec, ipus = spec_from(document), EmulatedIPUs(1, tiles)
    EmulatedModel(spec, 16, 1, ipus, training_op(spec)).trace()
    compiled = max(
        tile["memory"]["total"]["includingGaps"]
        for profile in ipus.profiles()
        for tile in profile["compilation"]["tiles"]
    )
    predicted = tile_fit(parse_spec(document))
    assert predicted is not None
    assert predicted.fullest_tile_bytes == pytest.approx(compiled, rel=0.2)
