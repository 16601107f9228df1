"""Trainings that load code of users: the whole training runs in a sandbox."""
