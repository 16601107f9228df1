"""Published estimates of the energy of operations, and what each leaves out."""

from __future__ import annotations

HOROWITZ = {
    "table": "45 nm CMOS (Horowitz, ISSCC 2014)",
    "assumption": "arithmetic only, without memory: float32 0.9 pJ for an addition and 4.6 pJ for "
    "a multiplication with addition, int8 0.03 and 0.23 pJ",
}
LOIHI = {
    "table": "Loihi (Davies et al., IEEE Micro 2018)",
    "assumption": "a chip of 14 nm that updates every neuron in every step: 27.1 pJ for a synaptic "
    "operation and 81 pJ for an update",
}
