"""What all listeners share: the settings of the Module, and the services of the gateway."""
