"""Reads files with data sets from anybody: for the runner, and for the check of an upload."""
