"""Tables, lines and pictures in which commands show jobs, sweeps and profiles."""
