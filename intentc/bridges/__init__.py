"""Processes that carry things between etcd and other systems, one package each: ``xds`` to Envoys, ``azure`` to an
Application Gateway, ``kubernetes`` from and to a cluster.

A bridge reads from etcd what compilers made, and delivers it. What became of it, the bridge writes as resources, for
the compilers that read them and for a process that takes over. A bridge imports neither another one nor a compiler;
``process`` has what their processes share.
"""
