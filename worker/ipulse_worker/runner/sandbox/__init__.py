"""Runs programs of users without network, files or processes of anybody else."""
