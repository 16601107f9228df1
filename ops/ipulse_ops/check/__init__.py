"""Checks a library of custom ops for the contract of TensorFlow for the IPU.

The command is `python -m ipulse_ops.check LIB.so`. symbols.py reads the file without loading it.
probe.py loads it and calls its metadata functions in a separate process, because they may crash.
findings.py turns both into findings.
"""
