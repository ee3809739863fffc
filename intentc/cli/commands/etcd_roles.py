"""``intentc etcd-roles``: prints the shell script that makes the roles in etcd.

Why it exists: an installed package has the script where nobody looks for it. What each process may do stands in the
script alone; running it is left to whoever administers etcd, with ``etcdctl``.
"""

from __future__ import annotations

import click

from ..errors import Exit


@click.command(name="etcd-roles")
def command() -> int:
    """Print the shell script that makes one role in etcd for each process, with no more rights than it needs.

    \b
    intentc etcd-roles | sh -s PATH INSTALLATION

    PATH is etcd.path, INSTALLATION is intentc.installation. The script calls etcdctl, which reads ETCDCTL_ENDPOINTS and
    ETCDCTL_USER; the script's comments show how users are given the roles.
    """
    from intentc.loading.paths import etcd_roles_file

    click.echo(etcd_roles_file().read_text(), nl=False)
    return Exit.DONE
