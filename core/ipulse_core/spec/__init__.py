"""What follows from the fields of an experiment spec, for the service and the runner."""
