# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""What can go wrong, as one small family, and how messages count. Only the adapters (modules, action plugins) catch it."""

from __future__ import annotations

import typing as t

# Answers that a later, equal request may not get: too many requests, a server or its etcd that is starting, a gateway.
_PASSING = frozenset((0, 408, 425, 429, 500, 502, 503, 504))


class GangError(Exception):
    """Something that was asked for did not happen.

    The message says what was being done, to which object, and what the server said. ``facts`` are further keys for
    the task's result, for example ``changed=True`` when part of the work had been done before it failed.
    """

    def __init__(self, message: str, **facts: t.Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts


class OptionError(GangError):
    """An option's value that cannot be: names the option, the value and what is allowed."""

    def __init__(self, option: str, value: object, allowed: str) -> None:
        super().__init__(f"option {option}: {value!r} is not possible; allowed: {allowed}")


class ApiError(GangError):
    """The API server's refusal, or its silence (``status`` 0).

    Args:
        doing: what was being done to what, for example ``create Job batch.volcano.sh/v1alpha1 default/train in lab``.
        status: the HTTP status code.
        said: the server's own words.
        retry_after: seconds after which the server wants to be asked again, from its Retry-After header.
    """

    def __init__(self, doing: str, status: int, said: str, retry_after: float | None = None) -> None:
        super().__init__(f"could not {doing}: {said} ({f'HTTP {status}' if status else 'no answer'})")
        self.status = status
        self.said = said
        self.retry_after = retry_after

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed later (design rule: 400, 401, 403, 404 and 422 are final)."""
        return self.status in _PASSING

    @property
    def conflict(self) -> bool:
        """The object changed, or appeared, between our look and our write."""
        return self.status == 409


class KindNotServed(ApiError):
    """The server does not know this kind: its CustomResourceDefinition is absent, or not established yet."""

    @property
    def passing(self) -> bool:
        """A CRD that was applied a moment ago is served some seconds later."""
        return True


def counted(count: int, noun: str) -> str:
    """A number and what it counts: ``1 node``, ``2 nodes``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def some(names: t.Sequence[str], shown: int = 3) -> str:
    """A few names and the number of the rest, so that a gang of a thousand stays readable."""
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {rest} more" if rest > 0 else "")
