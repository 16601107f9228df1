"""Executables for IPUs that are kept from run to run."""
