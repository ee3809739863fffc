"""TLS settings towards clients, and checks of certificates and keys."""
