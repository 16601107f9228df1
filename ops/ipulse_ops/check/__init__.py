"""Whether a library of custom ops honours TensorFlow's contract for the IPU.

`python -m ipulse_ops.check LIB.so` says so. symbols.py reads the file without loading it; probe.py
loads
it and calls its metadata in a process of its own, which may die of it; findings.py weighs both.
"""
