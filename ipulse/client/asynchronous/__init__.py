"""The client, for asyncio and trio. The blocking one is generated from these files.

`scripts/blocking_client.py` writes `ipulse.client.blocking`: without `async` and `await`, and with
names without `Async`. Edit these files only, and run it.
"""
