"""Agents on other machines: join tokens, wake-ups by long polling, and drains."""
