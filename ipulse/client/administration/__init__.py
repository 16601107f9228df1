"""Tokens and agents: their calls and resources."""
