"""The simulators that the trained network is exported for as NIR, and what they cannot run.

The service refuses an export with losses before the training. The runner repeats the check with the
trained constants.
"""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Optional, Tuple

from ipulse_core.derived_values import spiking_layers

# The name of each target in messages.
SIMULATORS = {"generic": "NIR", "norse": "Norse", "snntorch": "snnTorch"}
# Weights for snnTorch are divided by the threshold. With this one, weights up to 10^18 still fit
# into float32.
SMALLEST_THRESHOLD = 1e-20


def file_name(target: str) -> str:
    """Returns the name of the file that is exported for the target."""
    return f"network.{target}.nir"


def losses(
    network: Any, target: str, trained: Optional[Mapping[str, Any]] = None
) -> List[Tuple[str, str]]:
    """Lists what a target cannot run: the JSON pointer in the spec, and the loss.

    Args:
        network: Of the spec.
        target: One of SIMULATORS.
        trained: Trained arrays by name; a threshold among them replaces that of the spec.
    """
    return list(_losses(network, target, trained or {}))


def _losses(network: Any, target: str, trained: Mapping[str, Any]) -> Iterator[Tuple[str, str]]:
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
            pointer = f"/network/layers/{index}" if index < hidden else "/network/readout"
            array = f"layer_{index + 1}" if index < hidden else "readout"
            place = pointer[1:].replace("/", ".")
            thresholds = trained.get(f"{array}_threshold", layer.threshold)
            if isinstance(thresholds, (int, float)):
                thresholds = [thresholds]
            if min(thresholds) < SMALLEST_THRESHOLD:
                yield (
                    f"{pointer}/threshold",
                    f"thresholds below {SMALLEST_THRESHOLD} of {place}: weights are divided by "
                    "them, which float32 cannot hold",
                )
            if layer.recurrent:
                yield (
                    f"{pointer}/recurrent",
                    f"the recurrence of {place}: snnTorch runs recurrent layers of NIR differently",
                )
