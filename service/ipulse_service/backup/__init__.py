"""Backups of a home while its service runs, their restoration, and the move to PostgreSQL."""
