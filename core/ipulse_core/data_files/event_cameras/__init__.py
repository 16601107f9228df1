"""Recordings of event cameras, in the formats in which they are published."""
