"""An emulator of the Poplar API in C++: headers, engine and popc. `build` compiles it."""
