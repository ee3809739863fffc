"""An interface leads from a router to the network that it stands in; nothing is compiled from it alone."""

from intentc import Intent


class VirtualMachineInterfaceIntent(Intent):
    kind = "virtual_machine_interface"
