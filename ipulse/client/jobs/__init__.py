"""Jobs: their calls and resources."""
