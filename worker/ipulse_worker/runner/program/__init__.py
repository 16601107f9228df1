"""Jobs that build and run a Poplar program of the user on emulated IPUs, in a sandbox."""
