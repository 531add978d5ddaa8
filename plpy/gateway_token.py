"""The token that the server shows to the model gateway."""

import os
import stat


def gateway_token(data_directory: str) -> str | None:
    """Return the token, None where the gateway needs none.

    It comes from the server's environment (PGBLEND_GATEWAY_TOKEN) or from the file
    pgblend_gateway_token in the data directory, which nobody but its owner may read:
    PermissionError otherwise. ValueError where a header cannot carry it; the token itself is never
    in a message.
    """
    token = os.environ.get("PGBLEND_GATEWAY_TOKEN", "").strip()
    path = os.path.join(data_directory, "pgblend_gateway_token")
    if not token:
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            return None
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise PermissionError(f"{path} may be read by others: chmod 600 it")
        with open(path, encoding="utf-8") as file:
            token = file.read().strip()
    if not (token.isascii() and token.isprintable()):
        raise ValueError("the gateway token holds characters that a header cannot carry")
    return token or None
