"""``intentc etcd-roles``: prints the shell script that creates the roles in etcd.

Why it exists: users would not find the script inside an installed package. Only the script defines the rights of each
process; the administrator of etcd runs it, with ``etcdctl``.
"""

from __future__ import annotations

import click

from intentc.loading.paths import etcd_roles_file

from ..command_error import Exit


@click.command(name="etcd-roles")
def command() -> int:
    """Print the shell script that creates one role in etcd for each process, with the least rights.

    \b
    intentc etcd-roles | sh -s PATH INSTALLATION

    PATH is etcd.path, INSTALLATION is intentc.installation. The script calls etcdctl, which reads ETCDCTL_ENDPOINTS and
    ETCDCTL_USER; the script's comments show how users are given the roles.
    """
    click.echo(etcd_roles_file().read_text(), nl=False)
    return Exit.DONE
