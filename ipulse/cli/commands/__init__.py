"""The commands of the command line, one topic a folder."""
