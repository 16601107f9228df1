"""Commands about agents: join a service, list and drain them."""
