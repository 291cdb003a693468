# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.kubegang.core.plugins.modules.gpu_info import OPERATION
from ansible_collections.kubegang.core.plugins.plugin_utils._in_process import InProcess


class ActionModule(InProcess):
    operation = OPERATION
