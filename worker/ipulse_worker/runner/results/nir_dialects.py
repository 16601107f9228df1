"""How the simulators that read NIR count time, and scale the input of a neuron.

Norse 1.1.0 (norse.torch.from_nir), snnTorch 1.0.0 (snntorch.import_nir) and SpikingJelly 2.0.0
(spikingjelly.activation_based.nir_exchange) take Euler's step, so that decay = 1 - dt / tau.
snnTorch's step is fixed at 0.1 ms. snnTorch and SpikingJelly add the input without a factor, for
which r = tau / dt and w_in = tau_syn / dt stand, and have one threshold per layer: the weights take
the factors and thresholds. None of them runs NIR's LI. A leaky readout is there a LIF whose
threshold is never reached: its membrane is the readout. Sinabs 3.1.3 (sinabs.nir) counts time in
steps, solves exactly, adds the input without a factor, and subtracts the threshold after a spike.
So does Rockpool 3.1.0 (rockpool.nn.modules.torch.nir), whose only neuron is a CubaLIF: its synapse
decays with the input of the step, and r says the time step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ipulse_core.spec.nir_targets import EULER_DECAY, UNSCALED_INPUT

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

_EXACT_STEP = "decay = exp(-dt / tau); v = decay * v + (1 - decay) * r * I"
DISCRETIZATIONS = {
    "generic": _EXACT_STEP,
    "norse": f"{EULER_DECAY}; v = decay * v + (1 - decay) * r * I",
    "snntorch": f"{EULER_DECAY}; v = decay * v + (dt / tau) * r * I",
    "spikingjelly": f"{EULER_DECAY}; v = decay * v + (dt / tau) * r * I",
    "sinabs": f"decay = exp(-1 / tau), tau in steps; {UNSCALED_INPUT}",
    "rockpool": f"decay = exp(-dt / tau), dt = tau / (1 + r); i = decay_syn * (i + I); "
    f"{UNSCALED_INPUT.replace('I', 'i')}",
}
SNNTORCH_STEP_S = 1e-4
# A threshold that no membrane reaches. It is finite because a reset by subtraction multiplies it
# by 0 where there is no spike.
NEVER = 1e30
# Represents a decay of 1, for which tau would be infinite. It is 1 in float32, and its input has an
# exact factor.
ALMOST_1 = 1 - 2.0**-30
# exp(-NO_MEMORY) is 0 in double precision. It represents a decay of 0, for which tau would be 0.
NO_MEMORY = 1000.0
# The decay of a synapse of Rockpool that forgets: 0 would forget the input of the step as well.
FORGETTING = 2.0**-24


def has_one_value(target: str) -> bool:
    """Return whether the target reads one value for all neurons of a layer."""
    return target == "sinabs"


def tau_s(decay: Any, step_s: float) -> np.ndarray:
    """Convert the decay per step of `step_s` seconds to time constants in seconds."""
    decay = np.asarray(decay, dtype=np.float64)
    with np.errstate(divide="ignore"):
        tau: np.ndarray = np.where(decay > 0, -step_s / np.log(decay), step_s / NO_MEMORY)
    return tau


def weights_dtype(spec: ExperimentSpec) -> str:
    """Return the type to which runs round the weights that they read."""
    return spec.device.weights_dtype if spec.device.kind == "cpu" else "float32"
