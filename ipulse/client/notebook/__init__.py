"""How handles look in a notebook."""
