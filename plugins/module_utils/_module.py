# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""The adapter between Ansible and the operations. Modules declare their options and call ``run``."""

from __future__ import annotations

import typing as t

from ansible.module_utils.basic import AnsibleModule, env_fallback, missing_required_lib
from ansible_collections.kubegang.core.plugins.module_utils._cluster import KUBERNETES_IMPORT_ERROR, Cluster
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


def run(
    argument_spec: dict[str, t.Any],
    operation: t.Callable[[dict[str, t.Any], Cluster], dict[str, t.Any]],
    **constraints: t.Any,
) -> None:
    """Run one operation as a module: connect, do it, leave with its result or with its error.

    Args:
        argument_spec: the module's own options.
        operation: plain function of the options and the Cluster; returns the result, raises GangError.
        constraints: mutually_exclusive, required_if and the like, as AnsibleModule takes them.
    """
    module = AnsibleModule(argument_spec={**AUTH_SPEC, **argument_spec}, supports_check_mode=True, **constraints)
    if KUBERNETES_IMPORT_ERROR:
        module.fail_json(msg=missing_required_lib("kubernetes"), exception=KUBERNETES_IMPORT_ERROR)
    module.no_log_values.update(_secrets_of(module.params["kubeconfig"]))
    cluster = None
    try:
        cluster = Cluster.connect(module.params, dry_run=module.check_mode, patience=_patience(module.params))
        result = operation(module.params, cluster)
    except GangError as error:
        _warn(module, cluster)
        module.fail_json(msg=error.message, **{"changed": False, **error.facts})
    _warn(module, cluster)
    module.exit_json(**result)


def _patience(params: dict[str, t.Any]) -> float:
    return params.get("wait_timeout", PATIENCE_S)


def _warn(module: AnsibleModule, cluster: Cluster | None) -> None:
    for text in cluster.warnings if cluster else ():
        module.warn(text)


def _secrets_of(kubeconfig: t.Any) -> set[str]:
    """The secrets inside a kubeconfig that was given as a dictionary, for Ansible to blot out wherever they show."""
    if isinstance(kubeconfig, list):
        return {secret for item in kubeconfig for secret in _secrets_of(item)}
    if not isinstance(kubeconfig, dict):
        return set()
    found = {value for key, value in kubeconfig.items() if key in _SECRET_KEYS and isinstance(value, str)}
    return found | {secret for value in kubeconfig.values() for secret in _secrets_of(value)}
