"""Three benchmark programs: `python -m benchmarks.training`, `.service` and `.emulator`.

Each prints tables. The folder `results` of each holds one small table per topic, with the commit
and the machine it was measured at.
"""
