"""Packages of neurons that this worker's administrator signed off."""
