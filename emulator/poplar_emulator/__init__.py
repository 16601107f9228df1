"""The Poplar-API emulator: headers, engine and popc, in C++; `build` makes a prefix of them."""
