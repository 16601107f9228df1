"""Networks of leaky integrate-and-fire neurons over whole sequences."""
