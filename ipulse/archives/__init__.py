"""Archives of jobs: their layout, and their verification without the service."""
