"""What ``/status`` reports beyond the engine's own counters: pending work and rates."""
