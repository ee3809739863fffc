"""What our API server must answer as a kube-apiserver does: the same calls on both, verb by verb, kind by kind."""
