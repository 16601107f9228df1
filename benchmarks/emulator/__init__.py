"""Cycles of Poplar programs on the emulator."""
