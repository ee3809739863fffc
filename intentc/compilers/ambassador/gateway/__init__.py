"""What all listeners share: how a Module is read, the probes, and the services of the gateway."""
