"""Commands about the service and this installation."""
