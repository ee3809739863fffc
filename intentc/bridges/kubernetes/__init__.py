"""The Kubernetes bridge: mirrors resources of a cluster into etcd, and carries out manifests there.

The path of a change: ``kind_watcher`` lists and watches one kind of the cluster, over ``cluster``; ``informer`` decides
what each answer means, so that no change is missed; ``projection`` keeps the declared fields of an object; ``mirror``
compares them with what etcd holds, and says what to write; ``copy_writer`` writes it through the API server. The status
that compilers claim goes back: ``reporting`` sends what ``status_patch`` decides; ``owner_finalizers`` does so for
finalizers. ``problem_events`` reports problems as Events: of objects that can't be mirrored, and those that compilers
store, which ``compiled_problems`` follows.

What compilers make in the cluster is carried out by ``manifest_reconciler``: ``stored_manifests`` shows it the
manifests in etcd, ``made_kinds`` the objects of the cluster; ``applying`` writes to the cluster, ``manifest_answers``
through the API server. ``serving`` runs all of it, and lets one process of an installation write.
"""
