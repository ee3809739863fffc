"""Names what failed when one side does not take the other's certificate, out of what the TLS library says.

Why it exists: OpenSSL tells these failures apart by text alone, and a person must look at other files and keys than for
a server that is away. Which keys those are differs between the servers, so the caller gives their section.
"""

from __future__ import annotations

_OTHER_NAMES = "its certificate is for other names than this address: use one of those, or have it issued anew"
_HINTS = {
    "Hostname mismatch": _OTHER_NAMES,
    "IP address mismatch": _OTHER_NAMES,
    "certificate has expired": "its certificate has expired: have it issued anew",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not trusted: name the authority that signed it in {section}.{ca}",
    "WRONG_VERSION_NUMBER": "it speaks no TLS there: check http:// and https://",
    "RECORD_LAYER_FAILURE": "it speaks no TLS there: check http:// and https://",
    "CERTIFICATE_REQUIRED": "it asks for our certificate: set {section}.{certificate}",
    "UNKNOWN_CA": "it does not take our certificate: check {section}.{certificate}",
}


def trust_lack(error: Exception, section: str = "client.tls") -> str:
    """What is wrong between the certificates, and which key to look at; empty if ``error`` is no failure of trust.
    ``section``: of the configuration, ``client.tls`` or ``intentc.diagnostics.tls``."""
    text = str(error)
    own = section == "intentc.diagnostics.tls"
    ca, certificate = ("ca", "client_cert") if own else ("trusted_ca_path", "certificate_path")
    for words, hint in _HINTS.items():
        if words.lower() in text.lower() or words.lower().replace("_", " ") in text.lower():
            return hint.format(section=section, ca=ca, certificate=certificate)
    return ""
