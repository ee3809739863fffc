"""Guards every port of intentc: limits on connections, and checks on the origin of requests.

To open a connection needs no token, and any web page can send requests to this machine. The API server, diagnostics,
the xDS server and the echo services of ``dev`` share these guards. Each of them authorizes its callers.
"""
