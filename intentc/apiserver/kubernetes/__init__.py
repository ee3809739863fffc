"""The Kubernetes-compatible API: ``kubectl``, client libraries and GitOps tools on a store without a cluster.

``routes`` answers requests; ``catalog`` knows what is offered; ``discovery``, ``openapi`` and ``tables`` describe it;
``api`` reads and writes single resources through the API server's own mutations, so admission, roles and the index are
those of its REST API; ``lists`` and ``watches`` read many. docs/kubernetes.md has the table of what is answered as a
kube-apiserver does. ``bridges/kubernetes`` is a client of a real cluster.
"""
