"""The cache of executables for IPUs."""
