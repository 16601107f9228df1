"""Single layers of a network, timed beside each other."""
