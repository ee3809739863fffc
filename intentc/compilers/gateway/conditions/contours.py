"""The condition Available of Contours (docs/gateway.md §9).

Pure functions of values: no state.
"""

from __future__ import annotations

from ..running import Running
from .condition import Condition


def of_parameters(class_name: str, *, exists: bool, fault: str) -> Condition:
    """Of a Contour that names a class. ``fault``: why the class is not admitted, empty if it is."""
    if not exists:
        message = f"there is no GatewayClass {class_name}; create it, or clear gatewayClassRef"
        return Condition("Available", False, "GatewayClassNonExistent", message)
    if fault:
        return Condition("Available", False, "GatewayClassNotAdmitted", fault)
    return Condition("Available", True, "GatewayClassAdmitted")


def of_instance(faults: tuple[str, ...], holder: str, running: Running | None) -> Condition:
    """Of a Contour without class. ``holder``: who else holds its namespace, empty if it does. ``running``: None if
    nothing is made for it."""
    if faults:
        return Condition("Available", False, "Invalid", "; ".join(faults))
    if holder:
        return Condition("Available", False, "NamespaceInUse", f"{holder} holds the namespace; name another one")
    if running is None:
        return Condition("Available", False, "ContourUnavailable", "nothing is made yet")
    if running.taken:
        names = ", ".join(running.taken)
        return Condition("Available", False, "NameTaken", f"others have {names}; rename or delete them")
    rejected = "; ".join(running.rejected)
    if running.missing or running.is_contour_available is False or not running.envoys:
        return Condition("Available", False, "ContourUnavailable", rejected or running.waits_for)
    if running.is_contour_available is None:
        return Condition("Available", "Unknown", "ContourUnknown", "the Deployment of Contour has not reported yet")
    return Condition("Available", True, "ContourAvailable", rejected)
