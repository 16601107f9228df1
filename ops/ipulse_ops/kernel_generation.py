"""The generation of the arithmetic of trainings on CPUs.

Two trainings of one generation end with the same bits on every x86-64 CPU, for any number of
threads and with every supported TensorFlow. Every change of an order of sums, or of a rounding, in
kernels, losses, optimizers, initial weights or generated data raises it.
"""

from __future__ import annotations

KERNEL_GENERATION = 2
