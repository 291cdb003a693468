# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A TCP relay on loopback between client and API server, for faults of the network: dropped and silent connections."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator


class Relay:
    """Passes bytes both ways, TLS untouched, until told otherwise. Its event loop runs in a thread of its own."""

    def __init__(self, host: str, port: int) -> None:
        self._upstream = (host, port)
        self._loop = asyncio.new_event_loop()
        self._writers: set[asyncio.StreamWriter] = set()
        self.silent = False
        self.accepted = 0
        self.port = 0

    @contextlib.contextmanager
    def running(self) -> Iterator[Relay]:
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        thread = threading.Thread(target=self._loop.run_forever)
        thread.start()
        try:
            yield self
        finally:
            self.drop()
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            server.close()
            self._loop.run_until_complete(asyncio.sleep(0.05))
            self._loop.close()

    def drop(self) -> None:
        """Reset every open connection."""
        asyncio.run_coroutine_threadsafe(self._drop(), self._loop).result(5)

    async def _drop(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self._writers.add(writer)
        try:
            if self.silent:
                await reader.read()
                return
            upstream_reader, upstream_writer = await asyncio.open_connection(*self._upstream)
            self._writers.add(upstream_writer)
            await asyncio.gather(_pump(reader, upstream_writer), _pump(upstream_reader, writer))
        except OSError:
            pass
        finally:
            writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    writer.close()
