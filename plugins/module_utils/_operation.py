# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""What a task does, apart from who calls it: the module, or the action plugin in the controller's own process."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ansible.module_utils.basic import env_fallback
from ansible_collections.kubegang.core.plugins.module_utils._cluster import Cluster
from ansible_collections.kubegang.core.plugins.module_utils._errors import GangError

# A task that does not wait still gives a server that is just starting this long to answer.
PATIENCE_S = 10


def _auth(*names: str, **spec: t.Any) -> dict[str, t.Any]:
    """An option that kubernetes.core has too, with the same environment variables."""
    return dict(spec, fallback=(env_fallback, [f"K8S_AUTH_{name}" for name in names]))


AUTH_SPEC: dict[str, t.Any] = {
    "kubeconfig": _auth("KUBECONFIG", type="raw"),
    "context": _auth("CONTEXT", type="str"),
    "host": _auth("HOST", type="str"),
    "api_key": _auth("API_KEY", type="str", no_log=True),
    "username": _auth("USERNAME", type="str"),
    "password": _auth("PASSWORD", type="str", no_log=True),
    "validate_certs": _auth("VALIDATE_CERTS", "VERIFY_SSL", type="bool", aliases=["verify_ssl"]),
    "ca_cert": _auth("CA_CERT", "SSL_CA_CERT", type="path", aliases=["ssl_ca_cert"]),
    "client_cert": _auth("CLIENT_CERT", "CERT_FILE", type="path", aliases=["cert_file"]),
    "client_key": _auth("CLIENT_KEY", "KEY_FILE", type="path", aliases=["key_file"], no_log=False),
    "proxy": _auth("PROXY", type="str"),
    "no_proxy": _auth("NO_PROXY", type="str"),
    "proxy_headers": {
        "type": "dict",
        "options": {
            "proxy_basic_auth": _auth("PROXY_HEADERS_PROXY_BASIC_AUTH", type="str", no_log=True),
            "basic_auth": _auth("PROXY_HEADERS_BASIC_AUTH", type="str", no_log=True),
            "user_agent": _auth("PROXY_HEADERS_USER_AGENT", type="str"),
        },
        "apply_defaults": True,
    },
    "persist_config": _auth("PERSIST_CONFIG", type="bool"),
    "impersonate_user": _auth("IMPERSONATE_USER", type="str"),
    "impersonate_groups": _auth("IMPERSONATE_GROUPS", type="list", elements="str"),
}
WAIT_SPEC: dict[str, t.Any] = {"wait_timeout": {"type": "int", "default": 120}}

# Keys of a kubeconfig whose values nobody may read in a log.
_SECRET_KEYS = ("token", "password", "client-key-data", "secret", "access-token", "refresh-token", "id-token")


@dataclass(frozen=True)
class Operation:
    """One module's work.

    Attributes:
        run: plain function of the options and the Cluster; returns the task's result, raises GangError.
        options: the module's own options, as an argument spec.
        constraints: mutually_exclusive, required_if and the like, as AnsibleModule takes them.
    """

    run: t.Callable[[dict[str, t.Any], Cluster], dict[str, t.Any]]
    options: dict[str, t.Any]
    constraints: dict[str, t.Any] = field(default_factory=dict)

    @property
    def argument_spec(self) -> dict[str, t.Any]:
        return {**AUTH_SPEC, **self.options}

    def perform(self, params: dict[str, t.Any], *, check_mode: bool) -> dict[str, t.Any]:
        """Connect and do it. The result says how it went: with ``failed`` and ``msg`` if it failed."""
        cluster = None
        try:
            cluster = Cluster.connect(params, dry_run=check_mode, patience=params.get("wait_timeout", PATIENCE_S))
            result = self.run(params, cluster)
        except GangError as error:
            result = {"changed": False, **error.facts, "failed": True, "msg": error.message}
        return {**result, "warnings": cluster.warnings} if cluster and cluster.warnings else result


def secrets_of(kubeconfig: t.Any) -> set[str]:
    """The secrets inside a kubeconfig that was given as a dictionary, for Ansible to blot out wherever they show."""
    if isinstance(kubeconfig, list):
        return {secret for item in kubeconfig for secret in secrets_of(item)}
    if not isinstance(kubeconfig, dict):
        return set()
    found = {value for key, value in kubeconfig.items() if key in _SECRET_KEYS and isinstance(value, str)}
    return found | {secret for value in kubeconfig.values() for secret in secrets_of(value)}
