"""Reads documents of users in limited processes outside of the service."""
