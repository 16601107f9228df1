"""Latency and throughput of the service, compared with other job services."""
