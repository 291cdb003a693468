# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

from __future__ import annotations


class ModuleDocFragment:
    """The connection to a cluster: names, aliases and environment variables are those of kubernetes.core."""

    DOCUMENTATION = r"""
options:
  kubeconfig:
    description:
      - Path of a kubeconfig file, several paths separated by C(:), or the content of one as a dictionary.
      - Without it and without O(host), the default file is used, and inside a pod its service account.
      - The environment variable E(K8S_AUTH_KUBECONFIG) is read when the option is not set.
    type: raw
  context:
    description:
      - Name of a context in the kubeconfig. The default is its current context.
      - The environment variable E(K8S_AUTH_CONTEXT) is read when the option is not set.
    type: str
  host:
    description:
      - URL of the API server.
      - The environment variable E(K8S_AUTH_HOST) is read when the option is not set.
    type: str
  api_key:
    description:
      - Bearer token.
      - The environment variable E(K8S_AUTH_API_KEY) is read when the option is not set.
    type: str
  username:
    description:
      - User name for basic authentication, which few clusters allow.
      - The environment variable E(K8S_AUTH_USERNAME) is read when the option is not set.
    type: str
  password:
    description:
      - Password for basic authentication.
      - The environment variable E(K8S_AUTH_PASSWORD) is read when the option is not set.
    type: str
  validate_certs:
    description:
      - Whether the API server's certificate has to be valid.
      - The environment variable E(K8S_AUTH_VALIDATE_CERTS) or E(K8S_AUTH_VERIFY_SSL) is read when the option is not set.
    type: bool
    aliases: [verify_ssl]
  ca_cert:
    description:
      - Path of the certificate authority's certificates, the full chain.
      - The environment variable E(K8S_AUTH_CA_CERT) or E(K8S_AUTH_SSL_CA_CERT) is read when the option is not set.
    type: path
    aliases: [ssl_ca_cert]
  client_cert:
    description:
      - Path of a client certificate.
      - The environment variable E(K8S_AUTH_CLIENT_CERT) or E(K8S_AUTH_CERT_FILE) is read when the option is not set.
    type: path
    aliases: [cert_file]
  client_key:
    description:
      - Path of the client certificate's key.
      - The environment variable E(K8S_AUTH_CLIENT_KEY) or E(K8S_AUTH_KEY_FILE) is read when the option is not set.
    type: path
    aliases: [key_file]
  proxy:
    description:
      - URL of an HTTP proxy to the API server.
      - The environment variable E(K8S_AUTH_PROXY) is read when the option is not set.
    type: str
  no_proxy:
    description:
      - Hosts that are reached without the proxy, separated by commas.
      - The environment variable E(K8S_AUTH_NO_PROXY) is read when the option is not set.
    type: str
  proxy_headers:
    description: Headers for the proxy.
    type: dict
    suboptions:
      proxy_basic_auth:
        description:
          - C(user:password) for the proxy.
          - The environment variable E(K8S_AUTH_PROXY_HEADERS_PROXY_BASIC_AUTH) is read when the option is not set.
        type: str
      basic_auth:
        description:
          - C(user:password) for the server behind it.
          - The environment variable E(K8S_AUTH_PROXY_HEADERS_BASIC_AUTH) is read when the option is not set.
        type: str
      user_agent:
        description:
          - The user agent that the proxy sees.
          - The environment variable E(K8S_AUTH_PROXY_HEADERS_USER_AGENT) is read when the option is not set.
        type: str
  persist_config:
    description:
      - Whether tokens that were refreshed are written back into the kubeconfig.
      - The environment variable E(K8S_AUTH_PERSIST_CONFIG) is read when the option is not set.
    type: bool
  impersonate_user:
    description:
      - User to act as.
      - The environment variable E(K8S_AUTH_IMPERSONATE_USER) is read when the option is not set.
    type: str
  impersonate_groups:
    description:
      - Groups to act as a member of.
      - The environment variable E(K8S_AUTH_IMPERSONATE_GROUPS), separated by commas, is read when the option is not set.
    type: list
    elements: str
requirements:
  - kubernetes >= 28.1.0 (Python package)
notes:
  - The connection options are those of the modules of C(kubernetes.core), so that one C(module_defaults) entry for each
    collection, or one set of environment variables, serves a whole play.
"""
