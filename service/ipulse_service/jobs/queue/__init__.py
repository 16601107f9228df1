"""The queue: claims, their order, needs of jobs, why they wait, and wake-ups of agents."""
