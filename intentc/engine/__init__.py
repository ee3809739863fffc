"""The path of an event between the stages (docs/architecture.md), one module per step.

The stages know only the model; what carries a batch from the watch to the intents, an outcome to the claims, a plan
to the API server, and a number from the ledger to whoever waits for it, stands here. ``engine.py`` wires these steps
on one page. No rule of a domain and no rule of a stage belongs here.
"""
