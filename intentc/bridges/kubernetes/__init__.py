"""The Kubernetes bridge: mirrors resources of a cluster into etcd, and carries out manifests there.

The path of a change: ``informing`` lists and watches one kind of the cluster, over ``cluster``; ``informer`` decides
what each answer means, so that no change is missed; ``projection`` keeps the declared fields of an object; ``mirror``
compares them with what etcd holds, which ``stored`` follows, and says what to write; ``sending`` writes it as many
items of one ``/sync``. The status that compilers claim goes back: ``reporting`` sends what ``status_patch`` decides;
``owner_finalizers`` does so for finalizers. ``problem_events`` reports problems as Events: of objects that can't be
mirrored, and those that compilers store, which ``compiled_problems`` follows. What compilers make in the cluster is
carried out by ``carrying``, which ``made_kinds`` and ``stored_manifests`` show both sides; ``applying`` writes to the
cluster, ``answering`` to etcd. ``serving`` runs all of it, and lets one process of an installation write.

State: what the cluster and etcd hold, in memory; everything is read again after a restart, but for the marks of
``synced`` in etcd.

Touches: clock, environment, etcd, files, HTTP, logs, metrics, processes, randomness, sockets; through others: gRPC,
threads.
"""
