"""The LIF network as a Poplar op: graph builder, codelets, and how the emulator runs them."""
