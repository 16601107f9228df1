"""Quotas of projects and people, their shares, and the device time that they have used."""
