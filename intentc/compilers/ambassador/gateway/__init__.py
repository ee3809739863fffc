"""What all listeners have in common: the Module's settings, and the services of the gateway."""
