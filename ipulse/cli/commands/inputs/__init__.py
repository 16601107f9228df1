"""Commands that prepare what a job reads: specs, networks and data sets."""
