"""Cycles of Poplar programs on the emulator, and proof of the Poplar op at full size."""
