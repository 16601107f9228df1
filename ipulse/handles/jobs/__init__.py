"""Handles of jobs, and what they return."""
