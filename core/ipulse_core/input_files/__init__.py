"""Folders of users: which files of them are sent, and what is left out."""
