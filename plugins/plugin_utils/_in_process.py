# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""The adapter that runs an operation in the controller's worker: no module is built, sent, started and imported.

That saves most of what a short task costs. It is taken where the outcome is the same: the task runs on this machine,
with this interpreter, as this user, in this environment. Everywhere else the module runs as usual.
"""

from __future__ import annotations

import sys
import typing as t

from ansible.module_utils.common.parameters import remove_values
from ansible.plugins.action import ActionBase
from ansible_collections.kubegang.core.plugins.module_utils._cluster import KUBERNETES_IMPORT_ERROR
from ansible_collections.kubegang.core.plugins.module_utils._operation import Operation, secrets_of


class InProcess(ActionBase):
    """An action plugin that only has to name its operation."""

    _supports_async = True
    operation: Operation

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result = super().run(tmp, task_vars)
        if self._would_be_the_same(task_vars or {}):
            return {**result, **self._perform()}
        return {**result, **self._execute_module(task_vars=task_vars, wrap_async=self._task.async_val)}

    def _would_be_the_same(self, task_vars: dict[str, t.Any]) -> bool:
        task = self._task
        special = task.async_val or task.become or any(task.environment or ()) or KUBERNETES_IMPORT_ERROR
        if special or self._connection.transport != "local":
            return False
        variables = task_vars.get("ansible_delegated_vars", {}).get(task.delegate_to, task_vars)
        interpreter = self._templar.template(variables.get("ansible_python_interpreter", ""))
        return interpreter == sys.executable

    def _perform(self) -> dict[str, t.Any]:
        # What messages call the module; the loader's own name for an action plugin is that of its Python module.
        self._load_name = self._task.action
        validated, _arguments = self.validate_argument_spec(self.operation.argument_spec, **self.operation.constraints)
        params = validated.validated_parameters
        secrets = validated._no_log_values | secrets_of(params["kubeconfig"])
        return remove_values(self.operation.perform(params, check_mode=self._task.check_mode), secrets)
