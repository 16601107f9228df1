"""The file of another job, or an upload, that a job starts from."""
