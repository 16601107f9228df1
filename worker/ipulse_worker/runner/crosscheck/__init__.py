"""Runs one network on several back ends and compares them; `ipulse crosscheck` starts it.

Every back end runs the same samples from rest with the initial weights of a training of the spec.
It returns the gradients of one loss: the sum of membranes and spikes of every layer, weighted by
random numbers. They are compared with the float64 reference. A spike may differ from the
reference's only where the membrane is within float32 rounding of the threshold. With the back
end's own spikes replayed, the reference's membranes and gradients must equal the back end's.
"""
