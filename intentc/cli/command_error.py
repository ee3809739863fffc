"""Exit codes, and the three lines that a failed command prints.

Why it exists: scripts rely on the codes and people on the lines, so one module defines both. It translates the
exceptions of all layers, so commands stay short. A traceback is printed only for an internal error, and only if
``INTENTC_TRACEBACK`` is set.
"""

from __future__ import annotations

import enum
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TextIO


class Exit(enum.IntEnum):
    """The exit codes; ``EXIT_HELP`` describes them."""

    DONE = 0
    DIFFERENT = 1
    USAGE = 2
    INVALID = 3
    UNREACHABLE = 4
    HELD = 5
    PROBLEMS = 6
    INTERNAL = 70
    INTERRUPTED = 130


EXIT_HELP = """\b
Exit codes:
  0    done, no difference
  1    something differs (audit, plan --exit-code), or a saved plan is stale (apply)
  2    usage: unknown command, option or argument
  3    configuration, reaction map or input invalid, or rejected by the server
  4    etcd, API server or compiler not reachable, or no answer in time
  5    not healthy: something is held, rejected, contended or deferred, a mass deletion waits for approval, a restored
       store is being examined, or etcd rejects writes; or that is unknown; or parts of the input were left out
  6    healthy, but the input has problems (status)
  70   internal error: please report it
  130  interrupted
"""

_NOT_THERE = "check that it exists, and that this user may read it"

_CONFIG_FILE_VARIABLE = "INTENTC_CONFIG_FILE"
TRACEBACK = "INTENTC_TRACEBACK"
"""If this variable is set, internal errors show their traceback."""


class CommandError(Exception):
    """A failure in three lines: ``what`` went wrong, ``where`` (file:line, key, URL), and the ``next_step``."""

    def __init__(self, what: str, *, where: str = "", next_step: str = "", code: Exit = Exit.INVALID) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.next_step = next_step
        self.code = code


@contextmanager
def _needing(extra: str, libraries: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise CommandError(
            f"{libraries} are missing ({error.name})", next_step=f"pip install 'intentc[{extra}]'"
        ) from None


needing_azure = partial(_needing, "azure", "Azure's libraries")
"""Wrap imports that need the extra ``azure``: raises ``CommandError`` without it. So does the next."""
needing_protobuf = partial(_needing, "xds", "the protobuf packages of Envoy")


def explain(error: BaseException) -> CommandError:
    """The three lines for any exception that a command raises."""
    import click

    from intentc.apiserver.errors import ApiError, Busy, OutcomeUnknown, StoreDenied
    from intentc.leading import InstallationTaken, PathClaimed, PathMarked, UnreadableClaim
    from intentc.model import InvalidInput, SeveralInvalid
    from intentc.reconcile.failures import Denied, Failure, Fenced, Untrusted

    error = _innermost(error)
    match error:
        case CommandError():
            return error
        case KeyboardInterrupt() | click.Abort():
            return CommandError("interrupted", code=Exit.INTERRUPTED)
        case click.UsageError():
            command = error.ctx.command_path if error.ctx else "intentc"
            return CommandError(
                error.format_message(), where=command, next_step=f"`{command} --help` shows how", code=Exit.USAGE
            )
        case SeveralInvalid():
            return CommandError(error.message, next_step="fix them there and run the command again")
        case InvalidInput(reason="NotReadable"):
            return CommandError(error.message, where=error.source, next_step=_missing(error.source))
        case InvalidInput(reason="Resources"):
            file = error.source.rpartition(":")[0]
            return CommandError(
                error.message,
                where=error.source,
                next_step=f"`intentc apply {file}` applies them; --config-file takes a configuration, such as "
                "sample/contrail.yml",
            )
        case InvalidInput(reason="Configuration"):
            file = error.source.rpartition(":")[0]
            return CommandError(
                error.message, where=error.source, next_step=f"a command takes it as `--config-file {file}`"
            )
        case InvalidInput():
            following = "fix it there and run the command again" if error.source else ""
            return CommandError(error.message, where=error.source, next_step=following)
        case PathClaimed():
            return CommandError(
                str(error),
                where="etcd.path",
                next_step=f"give this installation another etcd.path; or, if {error.holder} is gone for good, run "
                f"`intentc release --all` with intentc.installation: {error.holder}, which gives the path up",
            )
        case InstallationTaken():
            return CommandError(
                str(error),
                where="intentc.installation",
                next_step=f"give this process another name there; or, if {error.installation} compiles something else "
                "now, run `intentc release --all` first",
            )
        case PathMarked():
            return CommandError(
                str(error),
                where="etcd.path",
                next_step=f"give this installation another etcd.path; or, if {error.other} is gone for good, run "
                f"`intentc release --all` with intentc.installation: {error.other}, which removes its marks",
            )
        case UnreadableClaim():
            return CommandError(
                str(error),
                where=f"etcd: {error.key}",
                next_step=f"`etcdctl get {error.key}` shows it; `etcdctl del {error.key}` deletes it, and the next "
                "start claims the path again, unless another installation's marks are below it",
            )
        case Denied():
            return CommandError(
                str(error),
                where="etcd",
                next_step="correct etcd.username, etcd.password, or the roles of that user",
            )
        case Untrusted():
            return CommandError(
                str(error),
                where="etcd",
                next_step="compare etcd.tls and etcd.endpoints with the certificates of etcd",
                code=Exit.UNREACHABLE,
            )
        case StoreDenied():
            return CommandError(
                error.message,
                where="etcd",
                next_step="correct etcd.username and etcd.password, or grant that user the API server's role: "
                "`intentc etcd-roles` prints the script that makes it",
            )
        case Fenced():
            return _internal(error)
        case Failure() | Busy() | OutcomeUnknown():
            return CommandError(
                str(error),
                where="etcd",
                next_step="check that it runs and that etcd.endpoints names it",
                code=Exit.UNREACHABLE,
            )
        case ApiError():
            return CommandError(
                error.message, where="the API server in this process", next_step="fix what it names, and start again"
            )
        case OSError(filename=None):
            # An address, for example: the message already says what to do.
            return CommandError(error.strerror or str(error))
        case OSError():
            return CommandError(error.strerror or str(error), where=str(error.filename), next_step=_NOT_THERE)
        case _:
            return _internal(error)


def is_address_in_use(error: BaseException) -> bool:
    """Whether a server could not start since another process listens at its address."""
    innermost = _innermost(error)
    return isinstance(innermost, OSError) and innermost.errno == errno.EADDRINUSE


def _missing(source: str) -> str:
    """What to do about a file that can't be read; names the variable that gave it, since the user did not type it."""
    if source and source == os.environ.get(_CONFIG_FILE_VARIABLE):
        return (
            f"{_CONFIG_FILE_VARIABLE} names it: if `intentc dev` printed that and has ended, "
            f"`unset {_CONFIG_FILE_VARIABLE}`, or start `intentc dev` again and use its new `export` line"
        )
    return _NOT_THERE


def show(error: CommandError, stream: TextIO | None = None) -> None:
    """Print the lines, in red on a terminal unless ``NO_COLOR`` is set; an interruption is silent."""
    if error.code is Exit.INTERRUPTED:
        return
    out = stream or sys.stderr
    head = "error:"
    if out.isatty() and not os.environ.get("NO_COLOR"):
        head = f"\033[31m{head}\033[0m"
    from intentc.diagnostics.logs import redacted

    further = [("  where: ", error.where), ("  next:  ", error.next_step)]
    print(redacted("\n".join([f"{head} {error.what}", *(name + text for name, text in further if text)])), file=out)


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _internal(error: BaseException) -> CommandError:
    from intentc.model import described

    if os.environ.get(TRACEBACK):
        import traceback

        from intentc.diagnostics.logs import redacted

        print(redacted("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
    return CommandError(
        f"internal error: {described(error)}",
        where=where,
        next_step=f"please report it with the output of the same command under {TRACEBACK}=1",
        code=Exit.INTERNAL,
    )
