"""Mutants of the reaction map: ``python -m tests.mutation`` (`make mutation`) tries every story with every one.

A map without one edge must show: in a wrong outcome where nothing heals, in a named reaction where reads do; or the
edge is listed in ``redundant.yml`` with a reason.
"""
