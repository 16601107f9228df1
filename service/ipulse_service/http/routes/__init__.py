"""The HTTP interface, one noun a file. Routes translate; what they call knows no HTTP."""
