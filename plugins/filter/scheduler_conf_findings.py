# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: scheduler_conf_findings
author: kubegang contributors (@kubegang)
version_added: 1.0.0
short_description: Find what is wrong with a configuration of the Volcano scheduler
description:
  - Volcano's scheduler rejects an unknown action together with the whole configuration and goes on with the previous
    one, ignores an unknown plugin or option after one line in its log, and says nothing about plugins that contradict
    each other. This filter says all of it before the configuration reaches a cluster.
positional: _input
options:
  _input:
    description: The configuration as in Volcano's file, where V(actions) may also be a list.
    type: dict
    required: true
  version:
    description: Version of Volcano, such as V(1.15.1). Decides which actions and plugins exist.
    type: str
    required: true
  custom_plugins:
    description:
      - Whether the scheduler loads plugins of the site's own (C(custom.scheduler_plugins_dir)).
      - An unknown plugin is then only a warning.
    type: bool
    default: false
  queues:
    description: The queues that the scheduler will serve, each with O(queues[].name) and perhaps O(queues[].parent).
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the queue.
        type: str
        required: true
      parent:
        description: Name of its parent.
        type: str
seealso:
  - module: kubegang.core.volcano_queue
"""

EXAMPLES = r"""
- name: Refuse a configuration that Volcano would drop or misread
  ansible.builtin.assert:
    that: __findings | selectattr('level', 'equalto', 'error') | length == 0
    fail_msg: "{{ __findings | map(attribute='message') | join('; ') }}"
  vars:
    __findings: "{{ conf | kubegang.core.scheduler_conf_findings(version='1.15.1') }}"
    conf:
      actions: enqueue, allocate, backfill
      tiers:
        - plugins:
            - {name: gang}
            - {name: predicates}
            - {name: proportion}
"""

RETURN = r"""
_value:
  description: What was found, errors first.
  type: list
  elements: dict
  contains:
    level:
      description:
        - V(error) when Volcano would drop, ignore or misread something.
        - V(warning) when it would do what many do not expect.
      type: str
    message:
      description: One sentence that names the action, plugin or option.
      type: str
"""

import re

from ansible.errors import AnsibleFilterError

# The first version that has each of them; (0,) stands for any that this collection installs.
ACTIONS = {
    **dict.fromkeys(("enqueue", "allocate", "backfill", "preempt", "reclaim", "shuffle"), (0,)),
    **dict.fromkeys(("gangpreempt", "gangreclaim"), (1, 15)),
}
PLUGINS = {
    **dict.fromkeys(
        (
            "binpack", "capacity", "cdp", "conformance", "deviceshare", "drf", "extender", "gang", "nodegroup",
            "nodeorder", "numaaware", "overcommit", "pdb", "predicates", "priority", "proportion", "rescheduling",
            "resourcequota", "sla", "task-topology", "tdm", "usage",
        ),
        (0,),
    ),
    **dict.fromkeys(("network-topology-aware", "resource-strategy-fit"), (1, 11)),
}  # fmt: skip
# Spelt as the scheduler reads them: some begin with "enable", others with "enabled".
PLUGIN_OPTIONS = frozenset((
    "name", "arguments", "enableJobOrder", "enableHierarchy", "enableJobReady", "enableJobPipelined",
    "enableTaskOrder", "enablePreemptable", "enableReclaimable", "enablePreemptive", "enableQueueOrder",
    "EnabledClusterOrder", "enablePredicate", "enableBestNode", "enableNodeOrder", "enableTargetJob",
    "enableReservedNodes", "enableJobEnqueued", "enabledVictim", "enableJobStarving", "enabledOverused",
    "enabledAllocatable", "enabledHyperNodeOrder", "enabledSubJobReady", "enabledSubJobPipelined",
    "enabledSubJobOrder", "enabledHyperNodeGradient",
))  # fmt: skip
HIERARCHICAL = frozenset(("capacity", "drf", "nodegroup"))


def scheduler_conf_findings(
    conf: dict, version: str, custom_plugins: bool = False, queues: list | None = None
) -> list[dict]:
    """Judge a configuration by what Volcano's scheduler of that version does with it."""
    since = _release(version)
    actions = _actions(conf)
    plugins = _plugins(conf)
    errors = [
        *_unknown("action", actions, ACTIONS, since),
        *_action_conflicts(actions),
        *([] if custom_plugins else _unknown("plugin", [plugin["name"] for plugin in plugins], PLUGINS, since)),
        *_plugin_conflicts(conf, plugins),
        *_unknown_options(plugins),
    ]
    warnings = [
        *(_unknown("plugin", [plugin["name"] for plugin in plugins], PLUGINS, since) if custom_plugins else []),
        *_surprises(actions, plugins, queues or []),
    ]
    return [
        {"level": level, "message": text}
        for level, texts in (("error", errors), ("warning", warnings))
        for text in texts
    ]


def _release(version: str) -> tuple:
    match = re.match(r"v?(\d+)\.(\d+)", str(version))
    if not match:
        raise AnsibleFilterError(f"scheduler_conf_findings: version is {version!r}, expected something like 1.15.1")
    return int(match[1]), int(match[2])


def _actions(conf: dict) -> list[str]:
    actions = conf.get("actions") or []
    names = actions.split(",") if isinstance(actions, str) else actions
    return [name.strip() for name in names if name.strip()]


def _plugins(conf: dict) -> list[dict]:
    plugins = [plugin for tier in conf.get("tiers") or [] for plugin in tier.get("plugins") or []]
    for plugin in plugins:
        if not plugin.get("name"):
            raise AnsibleFilterError(f"scheduler_conf_findings: tiers[].plugins[] needs a name, got {plugin!r}")
    return plugins


def _unknown(what: str, names: list[str], known: dict, release: tuple) -> list[str]:
    findings = []
    for name in names:
        if name not in known:
            available = ", ".join(sorted(each for each, since in known.items() if release >= since))
            findings.append(f"{what} {name!r} does not exist; Volcano {_dotted(release)} has {available}")
        elif release < known[name]:
            findings.append(f"{what} {name!r} came with Volcano {_dotted(known[name])}, this is {_dotted(release)}")
    return findings


def _dotted(release: tuple) -> str:
    return ".".join(map(str, release))


def _action_conflicts(actions: list[str]) -> list[str]:
    findings = []
    if "allocate" not in actions:
        findings.append("action 'allocate' is missing: nothing would be scheduled")
    whole: list[str] = [name for name in ("gangpreempt", "gangreclaim") if name in actions]
    single: list[str] = [name for name in ("preempt", "reclaim") if name in actions]
    if whole and single:
        names = " and ".join(map(repr, whole + single))
        findings.append(f"actions {names} exclude each other: evict whole gangs or single pods, not both")
    return findings


def _plugin_conflicts(conf: dict, plugins: list[dict]) -> list[str]:
    names = {plugin["name"] for plugin in plugins}
    findings = []
    if {"capacity", "proportion"} <= names:
        findings.append("plugins 'capacity' and 'proportion' exclude each other: both decide what a queue may have")
    findings += [
        f"plugin {plugin['name']!r} knows no hierarchy: enableHierarchy works with {', '.join(sorted(HIERARCHICAL))}"
        for plugin in plugins
        if plugin.get("enableHierarchy") and plugin["name"] in PLUGINS and plugin["name"] not in HIERARCHICAL
    ]
    tiers = [tier.get("plugins") or [] for tier in conf.get("tiers") or []]
    if any(_hierarchical(tier, "drf") and any(each["name"] == "proportion" for each in tier) for tier in tiers):
        findings.append("plugin 'drf' with enableHierarchy cannot share a tier with 'proportion'")
    return findings


def _hierarchical(plugins: list[dict], name: str) -> bool:
    return any(plugin["name"] == name and plugin.get("enableHierarchy") for plugin in plugins)


def _unknown_options(plugins: list[dict]) -> list[str]:
    known = ", ".join(sorted(PLUGIN_OPTIONS))
    return [
        f"plugin {plugin['name']!r} has no option {option!r}, it would be ignored; options are {known}"
        for plugin in plugins
        for option in sorted(set(plugin) - PLUGIN_OPTIONS)
    ]


def _surprises(actions: list[str], plugins: list[dict], queues: list[dict]) -> list[str]:
    findings = []
    evicting = [name for name in ("preempt", "reclaim", "gangpreempt", "gangreclaim") if name in actions]
    if "enqueue" in actions and evicting:
        names = " and ".join(map(repr, evicting))
        findings.append(f"action 'enqueue' holds back gangs that do not fit now, so {names} may never see them")
    if "gang" not in (plugin["name"] for plugin in plugins):
        findings.append("plugin 'gang' is missing: pods of a gang would be bound one by one")
    children = [queue["name"] for queue in queues if queue.get("parent") not in (None, "", "root")]
    if children and not _hierarchical(plugins, "capacity"):
        needs = "only plugin 'capacity' with enableHierarchy: true respects"
        findings.append(f"queue {children[0]!r} has a parent, which {needs}")
    return findings


class FilterModule:
    """What Ansible looks for in a filter plugin."""

    def filters(self) -> dict:
        return {"scheduler_conf_findings": scheduler_conf_findings}
