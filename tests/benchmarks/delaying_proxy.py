"""A TCP proxy that makes a server far away: where the kernel has no netem.

    python tests/benchmarks/delaying_proxy.py HOST PORT DELAY_MS

Prints the port that it listens on. What is sent waits half of the delay either way, so that a
round trip takes as much longer. Bandwidth and losses are those of the machine.
"""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from selectors import SelectSelector
from subprocess import PIPE, Popen

_SIZE = 1 << 16


@contextmanager
def delayed(host: str, port: int | str, delay_ms: float) -> Iterator[int]:
    """Run the proxy before a server, in a process of its own; yield its port."""
    command = [sys.executable, __file__, host, str(port), str(delay_ms)]
    with Popen(command, stdout=PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float
) -> None:
    """Hand on what comes, each piece as late as the others, until there is no more."""
    clock = asyncio.get_running_loop().time
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def hand_on() -> None:
        while True:
            due, data = await waiting.get()
            await asyncio.sleep(due - clock())
            if not data:
                writer.close()
                return
            writer.write(data)

    handing = asyncio.create_task(hand_on())
    with suppress(ConnectionError):
        while data := await reader.read(_SIZE):
            waiting.put_nowait((clock() + delay_s, data))
    waiting.put_nowait((clock() + delay_s, b""))
    await handing


async def _serve(host: str, port: int, delay_ms: float) -> None:
    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, there = await asyncio.open_connection(host, port)
        half_s = delay_ms / 2000
        await asyncio.gather(_carry(reader, there, half_s), _carry(back, writer, half_s))

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    # The usual selector waits in whole milliseconds, which would double a delay of one.
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(SelectSelector())) as runner:
        runner.run(_serve(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
