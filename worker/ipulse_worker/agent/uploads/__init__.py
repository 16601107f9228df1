"""How an agent sends events and files of an attempt to the service."""
