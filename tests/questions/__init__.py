"""The questions of docs/operating.md, asked of a running system with thousands of resources, through the real commands.

``test_questions`` asks them of a small one in every test run, ``python -m tests.questions`` of one with ten thousand
resources, and prints how long each answer took. What is right is taken from what lies in etcd, never from an answer.
"""
