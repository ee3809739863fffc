"""Host names, and what Hosts and Listeners mean, as typed values."""
