"""Answers every HTTP request with the request and the name of the service: the services behind the samples.

    python sample/echo.py NAME=HOST:PORT ...

`intentc dev` runs it for the annotations `intentc.dev/echo` of what it loads. It prints `ready` when all listen.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Echo(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self) -> None:
        url = urlsplit(self.path)
        asked = {
            "service": getattr(self.server, "name", ""),
            "method": self.command,
            "path": url.path,
            "query": url.query,
            "headers": {name.lower(): value for name, value in sorted(self.headers.items())},
            "body_bytes": self.body_bytes(),
        }
        body = json.dumps(asked, separators=(",", ":")).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer  # noqa: N815

    def body_bytes(self) -> int:
        """Read the body, with a length or in chunks, and return its length."""
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return len(self.rfile.read(int(self.headers.get("content-length", 0))))
        length = 0
        while size := int(self.rfile.readline().split(b";")[0], 16):
            length += len(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return length

    def log_message(self, *_: object) -> None:
        """Requests are not logged."""


class Service(ThreadingHTTPServer):
    """One service."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, name: str, host: str, port: int) -> None:
        self.name = name
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), Echo)


def main(services: list[str]) -> None:
    """Serve until the process is ended."""
    running = []
    for name, _, address in (service.partition("=") for service in services):
        host, _, port = address.rpartition(":")
        try:
            running.append(Service(name, host.strip("[]"), int(port)))
        except OSError as error:
            sys.exit(f"can't listen on {address} for {name}: {error.strerror}")
    print("ready", flush=True)
    threads = [threading.Thread(target=service.serve_forever) for service in running]
    for thread in threads:
        thread.start()


if __name__ == "__main__":
    main(sys.argv[1:])
