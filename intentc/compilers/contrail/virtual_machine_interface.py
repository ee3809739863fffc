"""An interface leads from a router to its network; nothing is compiled from it alone."""

from intentc import Intent


class VirtualMachineInterfaceIntent(Intent):
    kind = "virtual_machine_interface"
