"""The rules between the parts of an experiment, one subject a file."""
