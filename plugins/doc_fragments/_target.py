# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

from __future__ import annotations


class ModuleDocFragment:
    """Which gangs a module looks at."""

    DOCUMENTATION = r"""
options:
  kind:
    description:
      - Kind of the objects whose gangs are meant.
      - V(Job) is C(batch.volcano.sh/v1alpha1), one gang each. V(LeaderWorkerSet) is C(leaderworkerset.x-k8s.io/v1),
        one gang for each replica. V(PodGroup) is C(scheduling.volcano.sh/v1beta1), for a single replica of a
        LeaderWorkerSet, or for pods that Volcano groups without either.
      - The default is V(Job) when O(name) is given, otherwise every kind.
    type: str
    choices: [Job, LeaderWorkerSet, PodGroup]
  name:
    description:
      - Name of the one object that is meant. Without it, all in the namespace are, or those that O(label_selectors)
        select.
    type: str
  namespace:
    description: Namespace of the gangs.
    type: str
    default: default
  label_selectors:
    description:
      - Label selectors of the Jobs, LeaderWorkerSets and PodGroups that are meant; all of them must match.
      - The labels of pods are not looked at. Volcano gives a PodGroup the labels of its Job.
    type: list
    elements: str
"""
