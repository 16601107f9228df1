"""Spec files in YAML and JSON, and changes of their settings."""
