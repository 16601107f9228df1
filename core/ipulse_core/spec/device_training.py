"""Losses that a device computes within its program, by name in a spec and in the Poplar op."""

DEVICE_LOSSES = {
    "mean_membrane_cross_entropy": "mean_membrane",
    "last_membrane_cross_entropy": "last_membrane",
    "step_cross_entropy": "step_membrane",
}
