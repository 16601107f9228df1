"""The manifest of a custom op: its files, tensors and attributes, and whether it fits a layer."""
