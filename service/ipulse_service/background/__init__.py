"""Background work: publishing wake-ups, reaping lost attempts, housekeeping."""
