"""Tests of reading files with data sets."""
