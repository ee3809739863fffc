"""The worlds, systems and servers that tests run on, from the smallest to the largest.

=====================================  ===============================================================================
``naive_world``                        a world of plain dicts without indexes: one evaluation, or the logic alone
``toy_kinds``, ``toy``                 kinds without a meaning; a small compiler with facts, labels and globs
``memory_system``                      store, API server and engine in the test's process; ``box_system`` (rules of the
                                       engine), ``contrail_system`` (stories over the shipped compiler) and
                                       ``unit/offline/planned_system`` (plans) are made of it
``unit/service/compiler_service``      the same with directives and election: a whole service over a box system
``ambassador``                         the Ambassador compiler in memory: manifests, and what follows for Envoy
``simulation/simulated_system``        a memory system in simulated time with faults, restarts and kills
``kube``                               a cluster with faults, and bridges between it and a store in memory
``live_system``                        a real etcd, a real API server over HTTP, compilers in the test's process
``commands``                           the command line as processes, configured for a live system
``faults/process_system``              API server and compilers as processes, with a fault proxy before each server
``faults/etcd_cluster``                an etcd of three members
``envoy``                              the ports that a real Envoy serves (its systems are in ``tests/envoy``)
=====================================  ===============================================================================

The smallest one that can show a defect is the right one. ``golden`` holds the golden cases, ``waiting`` the waits,
``forking`` the start of processes, ``cpu`` the measures of CPU, ``certificates`` an authority of a test's own. What the
tests of one directory use, or mostly they, stands in that directory.
"""
