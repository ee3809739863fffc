"""From typed values to Envoy's own JSON (v3, Envoy 1.40): pure functions, one module for each sort of element."""
