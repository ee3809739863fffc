"""Kubernetes API servers for the tests of the bridge: a real one, and a small one in the test's process."""
