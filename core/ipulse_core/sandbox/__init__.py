"""Runs code and documents of users without network, files or processes of anybody else."""
