"""Stored files: content-addressed blobs, uploads and artifacts."""
