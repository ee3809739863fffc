"""What every port of intentc stands behind: limits on connections, and checks on where requests come from.

Why it exists: whoever can open a connection needs no token for that, and any web page can send requests to this
machine. API server, diagnostics, xDS server and the echo services of ``dev`` share these guards. Who may ask what is
left to each of them.
"""
