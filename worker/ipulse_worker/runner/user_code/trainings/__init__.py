"""Trainings that run in a sandbox as a whole, because TensorFlow loads code of users into them."""
