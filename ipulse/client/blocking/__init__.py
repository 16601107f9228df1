"""The methods of the synchronous client, one noun a file."""
