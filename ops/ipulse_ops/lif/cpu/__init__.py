"""The C++ kernels of sparse LIF networks on a CPU."""
