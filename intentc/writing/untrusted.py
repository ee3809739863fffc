"""Explains TLS errors when one side rejects the other's certificate.

Why it exists: OpenSSL distinguishes these errors only by their text, and a person must check other files and keys than
for an unreachable server. The keys differ between the servers, so the caller gives their section.
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
    """What is wrong with the certificates, and which key to check; empty if ``error`` is another one.

    ``section``: the section of the configuration, ``client.tls`` or ``intentc.diagnostics.tls``.
    """
    text = str(error)
    own = section == "intentc.diagnostics.tls"
    ca, certificate = ("ca", "client_cert") if own else ("trusted_ca_path", "certificate_path")
    for words, hint in _HINTS.items():
        if words.lower() in text.lower() or words.lower().replace("_", " ") in text.lower():
            return hint.format(section=section, ca=ca, certificate=certificate)
    return ""
