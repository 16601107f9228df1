"""Files in the bodies of requests and responses."""
