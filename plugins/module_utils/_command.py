# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""Orders to Volcano's controllers: a bus Command is created, carried out, and gone."""

from __future__ import annotations

import secrets

from ansible_collections.kubegang.core.plugins.module_utils._change import Object
from ansible_collections.kubegang.core.plugins.module_utils._cluster import COMMAND, Cluster, Kind
from ansible_collections.kubegang.core.plugins.module_utils._errors import ApiError, GangError
from ansible_collections.kubegang.core.plugins.module_utils._volcano import command


def order(cluster: Cluster, kind: Kind, target: Object, action: str, namespace: str, *, changed: bool) -> None:
    """Send one Command. The caller waits for its effect: there is no answer to a Command.

    Args:
        cluster: where.
        kind: of the target.
        target: the live Job or Queue.
        action: OpenQueue, CloseQueue, AbortJob or ResumeJob.
        namespace: where the Command is created.
        changed: whether the task had changed something before, for the result of a failure.
    """
    try:
        cluster.create(COMMAND, command(kind, target, action, namespace, secrets.token_hex(4)))
    except ApiError as error:
        # Its name is ours alone: if it exists, an earlier try reached the server and only the answer was lost.
        if not error.conflict:
            raise GangError(error.message, changed=changed) from error
