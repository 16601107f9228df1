"""The LIF network as a Poplar op: graph builder, codelets, and back ends that run it."""
