# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to kubegang.core: may change in any release.

"""A connection to one cluster. The only file that imports ``kubernetes``.

The client library finds and speaks the credentials (kubeconfig, exec plugins, tokens, in-cluster) and owns the
connection pool; objects travel as plain JSON. Its typed and dynamic layers are left out on purpose: on a gang of
1,000 pods they cost 8 and 4 times as much as the JSON, and the Table form that counting needs is not in them.
"""

from __future__ import annotations

import json
import time
import traceback
import typing as t
from dataclasses import dataclass
from urllib.parse import urlencode

from ansible_collections.kubegang.core.plugins.module_utils._errors import ApiError, GangError, KindNotServed

KUBERNETES_IMPORT_ERROR: str | None = None
try:
    import urllib3
    from kubernetes import client as k8s_client
    from kubernetes import config as k8s_config
    from kubernetes.utils.quantity import parse_quantity
except ImportError:
    KUBERNETES_IMPORT_ERROR = traceback.format_exc()

if t.TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

USER_AGENT = "kubegang.core"
# A request that got no answer by then is given up, so that a hanging server cannot outlast the task by more than that.
_LAST_REQUEST_S = 2.0
_LONGEST_REQUEST_S = 30.0
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0

_JSON = "application/json"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_METADATA_ONLY = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@dataclass(frozen=True)
class Kind:
    """A kind by its full group, version and plural name: Job, Queue and PodGroup each exist in several groups."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    comes_with: str = "Kubernetes"

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def api_path(self) -> str:
        """The URL path of the group and version that the kind belongs to."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """The URL path of the collection, or of one object in it."""
        parts = [self.api_path]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name:
            parts.append(name)
        return "/".join(parts)

    def call(self, namespace: str | None, name: str | None = None) -> str:
        """What messages call such an object, or such a list."""
        where = f" in namespace {namespace}" if self.namespaced and namespace else ""
        return f"{self.kind} {self.api_version} {name}{where}" if name else f"{self.plural} {self.api_version}{where}"


JOB = Kind("batch.volcano.sh", "v1alpha1", "Job", "jobs", comes_with="Volcano")
QUEUE = Kind("scheduling.volcano.sh", "v1beta1", "Queue", "queues", namespaced=False, comes_with="Volcano")
PODGROUP = Kind("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups", comes_with="Volcano")
COMMAND = Kind("bus.volcano.sh", "v1alpha1", "Command", "commands", comes_with="Volcano")
LWS = Kind("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets", comes_with="LeaderWorkerSet (LWS)")
POD = Kind("", "v1", "Pod", "pods")
NODE = Kind("", "v1", "Node", "nodes", namespaced=False)
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
EVENT = Kind("", "v1", "Event", "events")
SERVICE = Kind("", "v1", "Service", "services")
VALIDATING_WEBHOOKS = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
# A question to the server: nothing is stored.
ACCESS_REVIEW = Kind("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False)
AUTOSCALER = Kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")


@dataclass(frozen=True)
class Row:
    """One object in the API's Table form.

    Attributes:
        metadata: the object's own.
        cells: the columns that ``kubectl get -o wide`` prints, by lower-case name.
        ended: how it finished, ``Succeeded`` or ``Failed`` for a pod; empty while it has not.
    """

    metadata: dict[str, t.Any]
    cells: dict[str, t.Any]
    ended: str = ""


# Named here because Cluster has a method called list.
Rows = list[Row]


class Deadline:
    """A moment that everything within one task looks at."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def remaining(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        return self.remaining == 0.0


class Watch:
    """An open watch: iterate over it for the type of each event, close it from any thread."""

    def __init__(self, response: t.Any) -> None:
        self._response = response

    def __iter__(self) -> Iterator[str]:
        """End quietly at an error event (410 Gone is one) and at a broken stream: both only mean "look again"."""
        rest = b""
        try:
            for chunk in self._response.stream(amt=None, decode_content=True):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    event = json.loads(line)["type"]
                    if event == "ERROR":
                        return
                    yield event
        except (urllib3.exceptions.HTTPError, OSError, ValueError):
            return

    def close(self) -> None:
        """End a read that blocks in another thread, then give the socket up."""
        shutdown = getattr(self._response, "shutdown", None)  # urllib3 2.3 and newer
        if shutdown:
            try:
                shutdown()
            except (RuntimeError, ValueError, OSError):
                pass  # The stream has ended by itself.
        self._response.close()


def quantity(value: t.Any) -> Decimal:
    """A Kubernetes quantity (``500m``, ``1Gi``, ``8``) as an exact number. Raises ValueError for anything else."""
    return parse_quantity(value)


class Cluster:
    """One API server, seen with one set of credentials.

    Args:
        api_client: the library's client; its credentials and its connection pool are used.
        name: what messages call this cluster.
        dry_run: check mode. Every write asks the server for its own dry run, here and nowhere else.
        deadline: until then a request that failed for a passing reason is sent again. One pass in any case.
        headers: sent with each request, names may repeat (impersonation).
    """

    def __init__(
        self,
        api_client: k8s_client.ApiClient,
        name: str,
        *,
        dry_run: bool = False,
        deadline: Deadline | None = None,
        headers: t.Iterable[tuple[str, str]] = (),
    ) -> None:
        self.name = name
        self.dry_run = dry_run
        self.deadline = deadline or Deadline(0)
        self.warnings: list[str] = []
        self._configuration = api_client.configuration
        self._pool = api_client.rest_client.pool_manager
        self._headers = tuple(headers)

    @classmethod
    def connect(cls, params: dict[str, t.Any], *, dry_run: bool = False, patience: float = 0.0) -> Cluster:
        """Open the cluster that the authentication options name.

        Args:
            params: the options of the doc fragment ``kubegang.core._auth``.
            dry_run: check mode.
            patience: seconds during which failed requests are repeated; the task's ``wait_timeout``.

        Raises:
            GangError: no usable credentials, or a context that the kubeconfig does not have.
        """
        configuration = _configuration(params)
        return cls(
            k8s_client.ApiClient(configuration),
            params.get("context") or configuration.host,
            dry_run=dry_run,
            deadline=Deadline(patience),
            headers=_identity_headers(params),
        )

    def warn(self, text: str) -> None:
        """Say something once in the task's result without failing it."""
        if text not in self.warnings:
            self.warnings.append(text)

    def get(self, kind: Kind, name: str, namespace: str | None = None) -> dict[str, t.Any] | None:
        """The object, or None when the server has none of that name.

        Raises:
            KindNotServed: the server does not know the kind at all.
        """
        return self._call("GET", kind, namespace, name, missing_is_none=True)

    def serves(self, kind: Kind) -> bool:
        """Whether the server knows the kind at this moment. Requests for one that it does not know yet are repeated."""
        doing = f"discover {kind.api_version} in {self.name}"
        url = self._url(kind.api_path, {})

        def attempt(timeout: float) -> t.Any:
            try:
                return self._exchange("GET", url, doing, accept=_JSON, timeout=timeout)
            except ApiError as error:
                if error.status == 404:
                    return {"resources": []}
                raise

        return any(resource["name"] == kind.plural for resource in self._patiently(attempt)["resources"])

    def list(
        self, kind: Kind, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> list[dict[str, t.Any]]:
        """All objects that the selectors match, whole. Counting is cheaper with ``table``."""
        answer = self._call("GET", kind, namespace, query=_selectors(labels, fields))
        # Items of a list carry neither apiVersion nor kind.
        return [dict(item, apiVersion=kind.api_version, kind=kind.kind) for item in answer.get("items") or ()]

    def table(self, kind: Kind, namespace: str | None = None, *, labels: str = "", fields: str = "") -> Rows:
        """The same list as rows: metadata and printed columns, at a small part of the cost."""
        query = dict(_selectors(labels, fields), includeObject="Metadata")
        answer = self._call("GET", kind, namespace, query=query, accept=_TABLE)
        columns = [column["name"].lower() for column in answer["columnDefinitions"]]
        return [
            Row(row["object"]["metadata"], dict(zip(columns, row["cells"])), _ended(row))
            for row in answer.get("rows") or ()
        ]

    def create(self, kind: Kind, obj: dict[str, t.Any]) -> dict[str, t.Any]:
        """Create the object; the result is what the server stored (or would store, in check mode)."""
        metadata = obj["metadata"]
        return self._call("POST", kind, metadata.get("namespace"), metadata.get("name"), body=obj)

    def replace(self, kind: Kind, obj: dict[str, t.Any]) -> dict[str, t.Any]:
        """Update the object. Its resourceVersion makes the server refuse (409) if somebody else was faster."""
        metadata = obj["metadata"]
        return self._call("PUT", kind, metadata.get("namespace"), metadata["name"], body=obj)

    def scale(self, kind: Kind, obj: dict[str, t.Any]) -> dict[str, t.Any]:
        """Bring ``spec.replicas`` of the object to the server through its scale subresource, and nothing else.

        Whoever may only scale needs no right to update, and no webhook of the kind looks at it. The object's
        resourceVersion is checked as in ``replace``.
        """
        metadata = obj["metadata"]
        body = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {key: metadata[key] for key in ("name", "namespace", "resourceVersion")},
            "spec": {"replicas": obj["spec"]["replicas"]},
        }
        name, namespace = metadata["name"], metadata["namespace"]
        self._call("PUT", kind, namespace, f"{name}/scale", body=body)
        return obj if self.dry_run else self.get(kind, name, namespace) or obj

    def delete(self, kind: Kind, obj: dict[str, t.Any], *, dependants_first: bool = False) -> None:
        """Delete this very object, by uid: one of the same name that was made since stays.

        Args:
            kind: of the object.
            obj: the object as it was read.
            dependants_first: keep it until what it owns is gone; otherwise that follows.
        """
        metadata = obj["metadata"]
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Foreground" if dependants_first else "Background",
            "preconditions": {"uid": metadata["uid"]},
            # With options in the body the server does not look at those in the URL.
            "dryRun": ["All"] if self.dry_run else [],
        }
        namespace = metadata.get("namespace")
        self._call("DELETE", kind, namespace, metadata["name"], body=options, missing_is_none=True)

    def watch(
        self, kind: Kind, namespace: str | None = None, *, labels: str = "", fields: str = "", seconds: float
    ) -> Watch:
        """Open a stream that says that something changed, without saying what: a fresh look decides.

        What changes after this call returns is seen. The stream ends when the server ends it, drops it or answers
        410 Gone, or when ``seconds`` are over; whoever still waits looks again and opens a new one, so that no
        resource version is carried over.

        Raises:
            ApiError: the watch was refused.
        """
        query = _selectors(labels, fields)
        newest = self._call("GET", kind, namespace, query=dict(query, limit="1"), accept=_METADATA_LIST)
        query.update(
            watch="true", resourceVersion=newest["metadata"]["resourceVersion"], timeoutSeconds=f"{seconds:.0f}"
        )
        url = self._url(kind.path(namespace), query)
        doing = f"watch {kind.call(namespace)} in {self.name}"
        return Watch(self._exchange("GET", url, doing, accept=_METADATA_ONLY, timeout=seconds + 1, stream=True))

    def _call(
        self,
        method: str,
        kind: Kind,
        namespace: str | None,
        name: str | None = None,
        *,
        query: dict[str, str] | None = None,
        body: dict[str, t.Any] | None = None,
        accept: str = _JSON,
        missing_is_none: bool = False,
    ) -> t.Any:
        """One API call on a kind, repeated as long as that may help."""
        verb = {"POST": "create", "PUT": "update", "DELETE": "delete"}.get(method) or ("read" if name else "list")
        doing = f"{verb} {kind.call(namespace, name)} in {self.name}"
        query = dict(query or {})
        if self.dry_run and method != "GET":
            query["dryRun"] = "All"
        url = self._url(kind.path(namespace, None if method == "POST" else name), query)

        def attempt(timeout: float) -> t.Any:
            try:
                return self._exchange(method, url, doing, accept=accept, body=body, timeout=timeout)
            except ApiError as error:
                if error.status == 404 and error.said in _UNKNOWN_PATH:
                    raise _not_served(kind, self.name) from error
                if error.status == 404 and missing_is_none:
                    return None
                raise

        return self._patiently(attempt)

    def _patiently(self, attempt: t.Callable[[float], t.Any]) -> t.Any:
        """Repeat an attempt with growing pauses while it fails for a passing reason and the deadline allows."""
        pause = _FIRST_PAUSE_S
        while True:
            try:
                return attempt(min(_LONGEST_REQUEST_S, max(_LAST_REQUEST_S, self.deadline.remaining)))
            except ApiError as error:
                wait = error.retry_after or pause
                if not error.passing or wait >= self.deadline.remaining:
                    raise
                time.sleep(wait)
                pause = min(_LONGEST_PAUSE_S, pause * 2)

    def _exchange(
        self,
        method: str,
        url: str,
        doing: str,
        *,
        accept: str,
        timeout: float,
        body: dict[str, t.Any] | None = None,
        stream: bool = False,
    ) -> t.Any:
        """One request and its answer: the decoded JSON, or the open response of a stream."""
        headers = self._credentials()
        headers["Accept"] = accept
        for name, value in self._headers:
            headers.add(name, value)
        if body is not None:
            headers["Content-Type"] = _JSON
        try:
            response = self._pool.request(
                method,
                url,
                headers=headers,
                body=None if body is None else json.dumps(body).encode(),
                timeout=urllib3.Timeout(connect=min(timeout, _LONGEST_REQUEST_S), read=timeout),
                retries=False,
                preload_content=not stream,
            )
            if response.status >= 400:
                raise _refusal(doing, response)
            for warning in response.headers.getlist("Warning"):
                self.warn(_warning_text(warning))
            return response if stream else json.loads(response.data)
        except urllib3.exceptions.HTTPError as error:
            raise _silence(doing, error) from error
        except ValueError as error:
            raise ApiError(doing, 0, f"the answer is not JSON: {error}") from error

    def _credentials(self) -> urllib3.HTTPHeaderDict:
        headers = urllib3.HTTPHeaderDict({"User-Agent": USER_AGENT})
        # auth_settings() also renews tokens that an exec plugin or a mounted file made and that have run out.
        bearer = self._configuration.auth_settings().get("BearerToken")
        if bearer and bearer["value"]:
            headers["Authorization"] = bearer["value"]
        elif self._configuration.username and self._configuration.password:
            headers["Authorization"] = self._configuration.get_basic_auth_token()
        return headers

    def _url(self, path: str, query: dict[str, str]) -> str:
        return self._configuration.host.rstrip("/") + path + ("?" + urlencode(query) if query else "")


def _ended(row: dict[str, t.Any]) -> str:
    """The reason of the row's condition Completed, the only condition that the Table form knows."""
    return next((condition["reason"] for condition in row.get("conditions") or ()), "")


def _selectors(labels: str, fields: str) -> dict[str, str]:
    return {key: value for key, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}


def _configuration(params: dict[str, t.Any]) -> k8s_client.Configuration:
    """The library's configuration: from the kubeconfig or the pod's service account, then what the options say."""
    configuration = k8s_client.Configuration()
    if not _options_suffice(params):
        _load(params, configuration)
    if params.get("host"):
        configuration.host = params["host"]
    if params.get("api_key"):
        configuration.api_key = {"authorization": f"Bearer {params['api_key']}"}
        configuration.refresh_api_key_hook = None
    for option, attribute in _PLAIN_OPTIONS.items():
        if params.get(option) is not None:
            setattr(configuration, attribute, params[option])
    if params.get("proxy_headers"):
        configuration.proxy_headers = urllib3.util.make_headers(**params["proxy_headers"])
    if not configuration.verify_ssl:
        # The user has decided; a line of warning on each request would drown the task's own words.
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return configuration


_PLAIN_OPTIONS = {
    "username": "username",
    "password": "password",
    "validate_certs": "verify_ssl",
    "ca_cert": "ssl_ca_cert",
    "client_cert": "cert_file",
    "client_key": "key_file",
    "proxy": "proxy",
    "no_proxy": "no_proxy",
}


def _options_suffice(params: dict[str, t.Any]) -> bool:
    """Whether the options name a server and an identity, so that no kubeconfig is looked for."""
    identity = (
        params.get("api_key")
        or (params.get("username") and params.get("password"))
        or (params.get("client_cert") and params.get("client_key"))
    )
    return bool(params.get("host") and identity and not params.get("kubeconfig"))


def _load(params: dict[str, t.Any], configuration: k8s_client.Configuration) -> None:
    kubeconfig, context = params.get("kubeconfig"), params.get("context")
    arguments = {"context": context, "client_configuration": configuration}
    if params.get("persist_config") is not None:
        arguments["persist_config"] = params["persist_config"]
    try:
        if isinstance(kubeconfig, dict):
            k8s_config.load_kube_config_from_dict(kubeconfig, **arguments)
            return
        try:
            k8s_config.load_kube_config(kubeconfig, **arguments)
        except k8s_config.ConfigException:
            # As kubectl does: without any kubeconfig, a pod uses its own service account.
            if kubeconfig or context:
                raise
            k8s_config.load_incluster_config(client_configuration=configuration)
    except k8s_config.ConfigException as error:
        where = "the given dictionary" if isinstance(kubeconfig, dict) else kubeconfig or "the default kubeconfig"
        wanted = f"context {context!r} of " if context else ""
        raise GangError(
            f"no connection: {wanted}{where} cannot be used: {error}{_known_contexts(kubeconfig)}"
        ) from error


def _known_contexts(kubeconfig: t.Any) -> str:
    """The contexts that would have worked, for the error message; nothing when the file cannot be read at all."""
    try:
        if isinstance(kubeconfig, dict):
            names = [context["name"] for context in kubeconfig["contexts"]]
        else:
            names = [context["name"] for context in k8s_config.list_kube_config_contexts(kubeconfig)[0]]
    except (k8s_config.ConfigException, KeyError, TypeError):
        return ""
    return f"; its contexts: {', '.join(names)}"


def _identity_headers(params: dict[str, t.Any]) -> list[tuple[str, str]]:
    """Impersonation, https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation."""
    user = params.get("impersonate_user")
    headers = [("Impersonate-User", user)] if user else []
    return headers + [("Impersonate-Group", group) for group in params.get("impersonate_groups") or ()]


# What the API server says of a path that no API serves; for an absent object it names the object.
_UNKNOWN_PATH = ("404 page not found", "the server could not find the requested resource")


def _not_served(kind: Kind, cluster: str) -> KindNotServed:
    said = f"the API {kind.api_version} has no {kind.plural}; {kind.comes_with} is not installed, or not ready yet"
    return KindNotServed(f"find {kind.kind} {kind.api_version} in {cluster}", 404, said)


def _refusal(doing: str, response: t.Any) -> ApiError:
    """The server's refusal in its own words: a Status object nearly always, plain text from proxies in front of it."""
    said = response.data.decode(errors="replace")
    try:
        said = json.loads(said)["message"]
    except (ValueError, KeyError, TypeError):
        pass
    seconds = response.headers.get("Retry-After", "")
    return ApiError(doing, response.status, said.strip(), float(seconds) if seconds.isdigit() else None)


def _silence(doing: str, error: Exception) -> ApiError:
    reason = getattr(error, "reason", None) or error
    return ApiError(doing, 0, str(reason))


def _warning_text(header: str) -> str:
    """RFC 7234 warning value: code, agent, quoted text; the text alone is for people."""
    return header.split('"')[1] if '"' in header else header
