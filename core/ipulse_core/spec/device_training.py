"""Losses with functions of PopLibs in the Poplar op, by name in a spec and in the op."""

DEVICE_LOSSES = {
    "mean_membrane_cross_entropy": "mean_membrane",
    "last_membrane_cross_entropy": "last_membrane",
    "step_cross_entropy": "step_membrane",
}
