"""The parameters of instances: what a Contour or a ContourDeployment says, checked, and which class names them.

``parameters.py`` is the value, ``contour_parameters`` and ``deployment_parameters`` read it, ``classes`` finds it for a
class, or where a Gateway names parameters of its own.
"""
