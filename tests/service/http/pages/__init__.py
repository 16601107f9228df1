"""The pages that the service serves: its own, Swagger UI and ReDoc."""
