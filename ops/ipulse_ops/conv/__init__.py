"""Event-driven convolutions with LIF neurons, and pools of their spikes."""
