"""TLS with clients: its settings, and whether certificates and keys are what they say."""
