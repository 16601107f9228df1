"""Jobs that build and run a Poplar program of the user, in a sandbox."""
