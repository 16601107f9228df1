"""What the simulators that a NIR graph is exported for cannot run.

The service needs it to refuse an export before the training, the runner to report what is lost.
"""

from __future__ import annotations

from typing import Any, Iterator, List, Tuple

from ipulse_core.derived_values import spiking_layers

# Each target, as a person reads it.
SIMULATORS = {"generic": "NIR", "norse": "Norse", "snntorch": "snnTorch"}
SMALLEST_THRESHOLD = 1e-20  # that snnTorch's weights can be divided by


def file_name(target: str) -> str:
    """Returns the name of the file that is exported for the target."""
    return f"network.{target}.nir"


def losses(network: Any, target: str) -> List[Tuple[str, str]]:
    """Lists what a target cannot run: the JSON pointer in the spec, and the loss.

    Args:
        network: of the spec.
        target: one of SIMULATORS.
    """
    return list(_losses(network, target))


def _losses(network: Any, target: str) -> Iterator[Tuple[str, str]]:
    name = SIMULATORS[target]
    # Norse has an argument for the reset by subtraction.
    if network.reset not in (("zero", "subtract") if target == "norse" else ("zero",)):
        yield (
            "/network/reset",
            f"the reset: {name} sets v to 0 after a spike, and this network's reset is "
            f"{network.reset}",
        )
    if target == "generic":
        return
    if network.delay:
        yield "/network/delay", f"the delay: {name} reads no Delay node"
    if target == "snntorch":
        hidden = len(network.layers)
        for index, layer in enumerate(spiking_layers(network)):
            place = f"/network/layers/{index}" if index < hidden else "/network/readout"
            thresholds = (
                layer.threshold if isinstance(layer.threshold, tuple) else [layer.threshold]
            )
            if min(thresholds) < SMALLEST_THRESHOLD:
                yield (
                    f"{place}/threshold",
                    f"thresholds below {SMALLEST_THRESHOLD} of {place[1:].replace('/', '.')}: "
                    "weights are divided by them, which float32 cannot hold",
                )
            if layer.recurrent:
                yield (
                    f"{place}/recurrent",
                    f"the recurrence of {place[1:].replace('/', '.')}: snnTorch runs recurrent "
                    "layers of NIR differently",
                )
