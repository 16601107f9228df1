"""Uploaded data sets on this machine: their download and the cache."""
