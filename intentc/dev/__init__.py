"""What only ``intentc dev`` and tests need: an etcd, an Envoy and small services as child processes, and imitations of
Azure and of a cluster.

``command`` is the command itself, which the command line imports by name when it is called; nothing else imports this
package. ``servers`` starts etcd, API server, compiler and diagnostics; ``envoy_gateway``, ``echo_services``,
``azure_gateway`` and ``cluster_stand_in`` start what some compilers need besides. ``etcd_server``, ``envoy_server`` and
``child_process`` run the processes, and end them however this process ends. ``resource_manager`` imitates Azure.
"""
