"""Latency and throughput of the service, beside other job services."""
