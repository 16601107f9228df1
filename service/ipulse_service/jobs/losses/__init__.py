"""Lost attempts: which of them count, and agents that return after they were taken for dead."""
