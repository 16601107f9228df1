"""Data sets of recorded spikes, one module per data set."""
