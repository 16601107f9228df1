"""The page that one would show a colleague: its sections, pictures and tables."""
