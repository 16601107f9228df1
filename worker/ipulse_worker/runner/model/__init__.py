"""Networks, losses and optimizers of an experiment as TensorFlow programs."""
