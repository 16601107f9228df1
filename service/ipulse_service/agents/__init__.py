"""Agents: registration, join tokens, wake-ups by long polling, and drains."""
