"""Runs the engine with a real etcd and API server: start, takeover, reload, periodic audits, status.

``service`` assembles and runs it, ``takeover`` makes it the leader and back, ``reload`` applies other maps and
settings, ``audits`` compares it with a compile from scratch, ``problem_reports`` stores problems for the Kubernetes
bridge, and ``compiler_status`` computes ``/status``. The command (``cli/commands/run.py``) opens the connections and
receives the signals; rules of a stage stay in that stage.
"""
