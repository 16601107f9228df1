"""The kinds of layers, neurons and devices, and what each of them runs."""
