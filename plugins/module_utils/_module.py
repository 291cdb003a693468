# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""The adapter that runs an operation as a module, in a process of its own wherever the task's host is."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.kubegang.core.plugins.module_utils._cluster import KUBERNETES_IMPORT_ERROR
from ansible_collections.kubegang.core.plugins.module_utils._operation import Operation, secrets_of


def run(operation: Operation) -> None:
    """Read the options, perform the operation, leave with its result or its error."""
    module = AnsibleModule(operation.argument_spec, supports_check_mode=True, **operation.constraints)
    if KUBERNETES_IMPORT_ERROR:
        module.fail_json(msg=missing_required_lib("kubernetes"), exception=KUBERNETES_IMPORT_ERROR)
    module.no_log_values.update(secrets_of(module.params["kubeconfig"]))
    result = operation.perform(module.params, check_mode=module.check_mode)
    for text in result.pop("warnings", ()):
        module.warn(text)
    if result.get("failed"):
        module.fail_json(**result)
    module.exit_json(**result)
