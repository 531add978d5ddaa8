"""Are the environment's files of certificates there?"""

import os
from collections.abc import Iterator
from pathlib import Path

from pgblend.cli.doctor.check import Check

# HTTP clients open them before they ask anything; the error of Python's `ssl` names no file.
VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


def certificates() -> Iterator[Check]:
    """Check that a gateway started from here could ask a provider over TLS."""
    named = {name: os.environ.get(name) for name in VARIABLES}
    gone = [
        f"{name} names {path}" for name, path in named.items() if path and not Path(path).exists()
    ]
    if gone:
        mend = "name a file of certificates (Debian: /etc/ssl/certs/ca-certificates.crt), "
        mend += "or unset the variable"
        yield Check("certificates", "problem", f"{', '.join(gone)}, which is not there", mend)
