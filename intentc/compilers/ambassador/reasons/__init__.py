"""Explains why each Envoy element and its parts exist, only while an explanation is requested.

An element often follows from many resources, over facts. Which of them are needed, and which could replace another, is
found by evaluating the rules again with fewer of them (``reasons/groups.py``), or by searching all resources from which
the name of the element could follow. Reasons are complete, within the limit of ``reasons/groups.py``: if one source of
each is deleted, so is the element. A resource that could replace another is a reason even while it is overruled.
Nothing here decides what an element is.
"""
