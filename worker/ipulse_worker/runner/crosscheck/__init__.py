"""The same network in several ways: `python -m ipulse_worker.runner.crosscheck`, which `ipulse
compare` runs.

Every way runs the same samples from rest, by the weights that a training of the spec begins with,
and gives the gradients of one loss: membranes and spikes of every layer, each times a number drawn
once. The reference in float64 judges them: a spike may be on another side of its threshold than
the reference's only where the membrane is as near to it as float32 rounds; and with the way's own
spikes replayed, the reference's membranes and gradients are the way's.
"""
