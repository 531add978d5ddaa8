"""One datagram, sent or not."""

import socket


def send_datagram(address: str, content: str) -> bool:
    """Send a text to host:port or unix:/path, and return whether it left; never wait or raise.

    The host is an address in numbers or localhost, so that no name has to be looked up.
    """
    family: int = socket.AF_UNIX
    place: str | tuple[str, int] = address.removeprefix("unix:")
    if not address.startswith("unix:"):
        host, _, port = address.rpartition(":")
        host = "127.0.0.1" if host == "localhost" else host.strip("[]")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        place = (host, int(port))
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto(content.encode("utf-8", "replace"), place)
    except (OSError, OverflowError, ValueError):
        return False
    return True
