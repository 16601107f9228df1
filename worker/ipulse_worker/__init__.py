"""Takes jobs and does them: an agent that supervises, and a runner that trains."""
