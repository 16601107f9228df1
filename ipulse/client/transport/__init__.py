"""Requests, retries and errors of both clients."""
