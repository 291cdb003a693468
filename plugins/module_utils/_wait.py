# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""Waiting: a watch wakes, a fresh look decides, one deadline ends it."""

from __future__ import annotations

import threading
import time
import typing as t
from dataclasses import dataclass, field

from ansible_collections.kubegang.core.plugins.module_utils._cluster import Cluster, Deadline, Kind, Watch
from ansible_collections.kubegang.core.plugins.module_utils._errors import ApiError

# Without any word from a watch we look this often: one may be silent for ever, or be forbidden.
_SILENCE_S = 5.0
# While a state has to last, every look counts, woken or not.
_HOLD_LOOK_S = 1.0
# Looks are kept apart by this, and by twice what the last one cost, so that a storm of events cannot flood the server.
_SHORTEST_GAP_S = 0.1
_STREAM_S = 240.0

S = t.TypeVar("S")


@dataclass(frozen=True)
class Outcome:
    """Satisfied, or why not.

    Attributes:
        satisfied: what was expected is so at this look.
        final: waiting longer cannot change the answer.
        reasons: why it is not so, in words for people.
    """

    satisfied: bool
    final: bool = False
    reasons: t.Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Source:
    """What a watch listens to."""

    kind: Kind
    namespace: str | None = None
    labels: str = ""
    fields: str = ""


class Wake:
    """Wakes a waiting task when one of its sources changes. A context manager: its watches end with the block.

    They start with the first ``wait``, so that a first look that settles the matter costs no watch. With no sources,
    or when the watches are refused, ``wait`` is a pause and the task polls.
    """

    def __init__(self, cluster: Cluster, sources: t.Iterable[Source]) -> None:
        self._cluster = cluster
        self._changed = threading.Event()
        self._stopped = threading.Event()
        self._open: dict[Source, Watch | None] = dict.fromkeys(sources)
        self._started = False

    def __enter__(self) -> Wake:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stopped.set()
        for watch in self._open.values():
            if watch:
                watch.close()

    def wait(self, seconds: float) -> None:
        """Return when something changed since the last call, after ``seconds`` at the latest."""
        if not self._started:
            self._started = True
            for source in self._open:
                threading.Thread(target=self._listen, args=(source,), daemon=True).start()
        self._changed.wait(seconds)
        self._changed.clear()

    def _listen(self, source: Source) -> None:
        while not self._stopped.is_set():
            try:
                watch = self._cluster.watch(
                    source.kind, source.namespace, labels=source.labels, fields=source.fields, seconds=_STREAM_S
                )
            except ApiError as error:
                if not error.passing:
                    return
                self._stopped.wait(_SILENCE_S)
                continue
            self._open[source] = watch
            if self._stopped.is_set():
                watch.close()
                return
            # Whatever happened before the stream was open needs a look of its own.
            self._changed.set()
            for _event in watch:
                self._changed.set()
            watch.close()


def wait_until(
    read: t.Callable[[], S],
    judge: t.Callable[[S], Outcome],
    wake: Wake,
    deadline: Deadline,
    hold: float = 0.0,
) -> tuple[S, Outcome]:
    """Look until the judgement is satisfied, is final, or the deadline passes; the last look is the result.

    Args:
        read: one fresh look at the cluster.
        judge: what the look means.
        wake: says when another look is worth it.
        deadline: by then it must have become so. At least one look is taken.
        hold: seconds for which it must stay so without a break, beyond the deadline if need be.
    """
    since: float | None = None
    while True:
        began = time.monotonic()
        seen = read()
        outcome = judge(seen)
        now = time.monotonic()
        if outcome.satisfied:
            since = began if since is None else since
            if now - since >= hold:
                return seen, outcome
            pause = min(_HOLD_LOOK_S, hold - (now - since))
        else:
            since = None
            if outcome.final or deadline.passed:
                return seen, outcome
            pause = min(_SILENCE_S, deadline.remaining)
        gap = max(_SHORTEST_GAP_S, 2 * (now - began))
        time.sleep(min(gap, pause))
        wake.wait(max(0.0, pause - gap))


def wait_on(
    cluster: Cluster,
    kind: Kind,
    name: str,
    namespace: str | None,
    judge: t.Callable[[dict[str, t.Any] | None], Outcome],
) -> tuple[dict[str, t.Any] | None, Outcome]:
    """``wait_until`` on one object, by name, until the cluster's deadline. An object that is not there is None."""
    with Wake(cluster, [Source(kind, namespace, fields=f"metadata.name={name}")]) as wake:
        return wait_until(lambda: cluster.get(kind, name, namespace), judge, wake, cluster.deadline)
