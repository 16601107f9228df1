"""Pydantic models of requests and responses: the one description of what the HTTP API carries."""
