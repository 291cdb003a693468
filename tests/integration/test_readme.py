# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The README's playbook is run as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.cluster import Kubectl, LiveCluster, site_vars
from tests.support.playbooks import ROOT, Ansible


def test_readme_playbook_runs_a_gang(lab: LiveCluster, kubectl: Kubectl, ansible: Ansible, tmp_path: Path) -> None:
    block = re.search(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert block is not None
    playbook = tmp_path / "hello.yml"
    playbook.write_text(block[1])
    try:
        ansible.playbook(playbook, extra_vars=site_vars(lab)).checked()
        pods = kubectl.items("pods", "--namespace", "default", "--selector", "volcano.sh/job-name=hello")
        assert [pod["status"]["phase"] for pod in pods] == ["Running"] * 3
    finally:
        kubectl("delete", "jobs.batch.volcano.sh", "hello", "--namespace", "default", "--ignore-not-found")
