# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the connection layer promises, against a real API server. The oracle is kubectl."""

from __future__ import annotations

import json
import threading
import time

import pytest
from ansible_collections.kubegang.core.plugins.module_utils._change import Rules, reconcile, remove
from ansible_collections.kubegang.core.plugins.module_utils._cluster import (
    NODE,
    Cluster,
    Deadline,
    Kind,
    Watch,
)
from ansible_collections.kubegang.core.plugins.module_utils._errors import ApiError, GangError, KindNotServed
from ansible_collections.kubegang.core.plugins.module_utils._wait import Outcome, Source, Wake, wait_until

CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
UNKNOWN = Kind("nobody.kubegang.dev", "v1", "Thing", "things", comes_with="The thing controller")


def config_map(namespace, name="settings", **data):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


def stored(kubectl, namespace, name="settings"):
    return kubectl.get("configmap", name, "--namespace", namespace)


# --- reading


def test_an_absent_object_is_none(cluster, namespace):
    assert cluster.get(CONFIG_MAP, "nothing", namespace) is None


def test_an_unknown_kind_is_no_absent_object_and_the_message_says_what_to_install(connect, namespace):
    with pytest.raises(
        KindNotServed, match=r"nobody\.kubegang\.dev/v1 has no things; The thing controller is not inst"
    ):
        connect(patience=0).get(UNKNOWN, "x", namespace)


def test_a_check_before_the_kind_is_there_predicts_and_warns_at_once(connect, namespace):
    check = connect(dry_run=True, patience=30)
    thing = {"apiVersion": UNKNOWN.api_version, "kind": "Thing", "metadata": {"name": "x", "namespace": namespace}}
    began = time.monotonic()
    assert reconcile(check, UNKNOWN, thing).changed
    assert time.monotonic() - began < 5
    (warning,) = check.warnings
    assert "has no API nobody.kubegang.dev/v1 yet; The thing controller has to be installed first" in warning


def test_where_there_is_no_such_kind_there_is_nothing_to_remove(connect, namespace):
    began = time.monotonic()
    assert not remove(connect(patience=30), UNKNOWN, "x", namespace).changed
    assert time.monotonic() - began < 5


def test_a_list_holds_whole_objects_that_say_what_they_are(cluster, namespace):
    cluster.create(CONFIG_MAP, config_map(namespace, a="1"))
    (found,) = cluster.list(CONFIG_MAP, namespace, fields="metadata.name=settings")
    assert (found["apiVersion"], found["kind"], found["data"]) == ("v1", "ConfigMap", {"a": "1"})


def test_a_table_has_the_columns_that_kubectl_prints(cluster, kubectl):
    rows = {row.metadata["name"]: row.cells for row in cluster.table(NODE)}
    for line in kubectl("get", "nodes", "--no-headers").splitlines():
        name, status, *_rest = line.split()
        assert rows[name]["status"] == status


def test_selectors_choose_what_is_listed(cluster, kubectl, namespace):
    for name in ("a", "b"):
        kubectl("create", "configmap", name, "--namespace", namespace)
    kubectl("label", "configmap", "a", "pick=me", "--namespace", namespace)
    assert [row.metadata["name"] for row in cluster.table(CONFIG_MAP, namespace, labels="pick=me")] == ["a"]


# --- writing


def test_an_update_of_what_somebody_changed_meanwhile_is_refused_as_a_conflict(cluster, kubectl, namespace):
    read = cluster.create(CONFIG_MAP, config_map(namespace, a="1"))
    kubectl("annotate", "configmap", "settings", "by=somebody", "--namespace", namespace)
    with pytest.raises(ApiError) as refused:
        cluster.replace(CONFIG_MAP, {**read, "data": {"a": "2"}})
    assert refused.value.conflict
    assert stored(kubectl, namespace)["data"] == {"a": "1"}


def test_a_webhook_that_does_not_answer_yet_is_named_at_once_or_waited_for(connect, kubectl, namespace):
    webhook = {
        "name": "late.kubegang.dev",
        "clientConfig": {"url": "https://127.0.0.1:9/"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kubectl.apply(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": namespace},
            "webhooks": [webhook],
        }
    )
    remove_it = ("delete", "validatingwebhookconfiguration", namespace, "--ignore-not-found")
    try:
        with pytest.raises(ApiError, match=r'failed calling webhook "late\.kubegang\.dev"'):
            connect(patience=0).create(CONFIG_MAP, config_map(namespace, a="1"))
        assert stored(kubectl, namespace) is None
        threading.Timer(2, kubectl, remove_it).start()
        assert reconcile(connect(patience=30), CONFIG_MAP, config_map(namespace, a="1")).changed
    finally:
        kubectl(*remove_it)
    assert stored(kubectl, namespace)["data"] == {"a": "1"}
    assert not reconcile(connect(), CONFIG_MAP, config_map(namespace, a="1")).changed


DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments")


def deployment(namespace, replicas=0, image="x:1"):
    """A paused one: its controller creates nothing and writes nothing into it, so that only the test changes it."""
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": image}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "paused": True,
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "x"}},
            "template": template,
        },
    }


@pytest.fixture
def user_with(kubectl, namespace):
    """``user_with(rule, …)``: the name of a user with these rights in the test's namespace, and no others."""

    def bound(*rules):
        user, rbac = f"user-of-{namespace}", "rbac.authorization.k8s.io"
        identity = {"apiVersion": f"{rbac}/v1", "metadata": {"name": "limited", "namespace": namespace}}
        subject = {"kind": "User", "name": user, "apiGroup": rbac}
        role = {"kind": "Role", "name": "limited", "apiGroup": rbac}
        kubectl.apply(
            {**identity, "kind": "Role", "rules": list(rules)},
            {**identity, "kind": "RoleBinding", "roleRef": role, "subjects": [subject]},
        )
        return user

    return bound


def test_whoever_may_only_scale_can_change_the_replicas_and_nothing_else(
    connect, cluster, kubectl, namespace, user_with
):
    rules = Rules(scale="spec.replicas")
    scaler = user_with(
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]},
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["update"]},
    )

    def replicas():
        return kubectl.get("deployment", "web", "--namespace", namespace)["spec"]["replicas"]

    reconcile(cluster, DEPLOYMENT, deployment(namespace), rules)
    predicted = reconcile(connect(impersonate_user=scaler, dry_run=True), DEPLOYMENT, deployment(namespace, 2), rules)
    assert replicas() == 0
    change = reconcile(connect(impersonate_user=scaler), DEPLOYMENT, deployment(namespace, 2), rules)
    assert replicas() == 2
    assert change.changed
    assert predicted.result()["diff"] == change.result()["diff"]
    with pytest.raises(ApiError) as refused:
        reconcile(connect(impersonate_user=scaler), DEPLOYMENT, deployment(namespace, 1, image="x:2"), rules)
    assert refused.value.status == 403


def test_scaling_what_somebody_changed_meanwhile_is_refused_as_a_conflict(cluster, kubectl, namespace):
    read = cluster.create(DEPLOYMENT, deployment(namespace))
    kubectl("annotate", "deployment", "web", "by=somebody", "--namespace", namespace)
    with pytest.raises(ApiError) as refused:
        cluster.scale(DEPLOYMENT, {**read, "spec": {**read["spec"], "replicas": 1}})
    assert refused.value.conflict


class Overtaken(Cluster):
    """Lets somebody else be faster, once."""

    meddle = None

    def replace(self, kind, obj):
        self._let_them()
        return super().replace(kind, obj)

    def create(self, kind, obj):
        self._let_them()
        return super().create(kind, obj)

    def _let_them(self):
        if self.meddle:
            self.meddle, meddle = None, self.meddle
            meddle()


@pytest.fixture
def overtaken(lab):
    return Overtaken.connect({"kubeconfig": str(lab.kubeconfig)}, patience=10)


def test_after_a_conflict_the_change_is_made_on_top_of_the_other_one(overtaken, kubectl, namespace):
    overtaken.create(CONFIG_MAP, config_map(namespace, a="1"))
    overtaken.meddle = lambda: kubectl("annotate", "configmap", "settings", "by=somebody", "--namespace", namespace)
    assert reconcile(overtaken, CONFIG_MAP, config_map(namespace, a="2")).changed
    now = stored(kubectl, namespace)
    assert (now["data"], now["metadata"]["annotations"]["by"]) == ({"a": "2"}, "somebody")


def test_an_object_that_appears_while_we_create_it_is_changed_instead(overtaken, kubectl, namespace):
    overtaken.meddle = lambda: kubectl("create", "configmap", "settings", "--namespace", namespace)
    assert reconcile(overtaken, CONFIG_MAP, config_map(namespace, a="2")).changed
    assert stored(kubectl, namespace)["data"] == {"a": "2"}


def test_an_object_that_appears_while_ours_is_recreated_is_looked_at_anew(overtaken, kubectl, namespace):
    overtaken.create(CONFIG_MAP, config_map(namespace, a="1"))
    overtaken.meddle = lambda: kubectl("create", "configmap", "settings", "--namespace", namespace)
    frozen = Rules(mutable=())
    assert reconcile(overtaken, CONFIG_MAP, config_map(namespace, a="2"), frozen, recreate=True).changed
    assert stored(kubectl, namespace)["data"] == {"a": "2"}


def test_a_dry_run_answers_as_if_it_had_happened_and_stores_nothing(connect, cluster, kubectl, namespace):
    check = connect(dry_run=True)
    assert check.create(CONFIG_MAP, config_map(namespace, a="1"))["metadata"]["uid"]
    assert stored(kubectl, namespace) is None
    live = cluster.create(CONFIG_MAP, config_map(namespace, a="1"))
    assert check.replace(CONFIG_MAP, {**live, "data": {"a": "2"}})["data"] == {"a": "2"}
    check.delete(CONFIG_MAP, live)
    assert stored(kubectl, namespace)["data"] == {"a": "1"}


def test_a_dry_run_of_an_impossible_object_is_refused_like_the_real_one(connect, namespace):
    impossible = config_map(namespace, name="UPPER")
    said = []
    for dry_run in (True, False):
        with pytest.raises(ApiError) as refused:
            connect(dry_run=dry_run).create(CONFIG_MAP, impossible)
        said.append((refused.value.status, refused.value.said))
    assert said[0] == said[1]
    assert said[0][0] == 422


def test_only_the_object_that_was_looked_at_is_deleted(cluster, kubectl, namespace):
    earlier = cluster.create(CONFIG_MAP, config_map(namespace, a="1"))
    kubectl("delete", "configmap", "settings", "--namespace", namespace)
    kubectl("create", "configmap", "settings", "--namespace", namespace)
    with pytest.raises(ApiError, match="UID"):
        cluster.delete(CONFIG_MAP, earlier)
    assert stored(kubectl, namespace)


def test_removing_waits_for_finalizers_and_names_them_when_they_stay(connect, kubectl, namespace):
    held = config_map(namespace)
    held["metadata"]["finalizers"] = ["kubegang.dev/held"]
    connect().create(CONFIG_MAP, held)
    with pytest.raises(GangError, match=r"not gone; finalizers kubegang\.dev/held") as late:
        remove(connect(patience=1), CONFIG_MAP, "settings", namespace)
    assert late.value.facts["changed"]
    kubectl(
        "patch", "configmap", "settings", "--namespace", namespace, "--type=merge", '-p={"metadata":{"finalizers":[]}}'
    )
    assert not remove(connect(), CONFIG_MAP, "settings", namespace).changed


def test_a_namespace_that_does_not_exist_is_named(cluster):
    with pytest.raises(ApiError, match='namespaces "no-such-namespace" not found'):
        cluster.create(CONFIG_MAP, config_map("no-such-namespace"))


# --- refusals


def test_a_missing_right_is_final_and_named(connect, namespace):
    began = time.monotonic()
    with pytest.raises(ApiError, match='cannot list resource "configmaps"') as refused:
        connect(impersonate_user="somebody", patience=30).list(CONFIG_MAP, namespace)
    assert refused.value.status == 403
    assert time.monotonic() - began < 5


def test_a_wrong_token_is_final_and_does_not_show(connect, kubeconfig):
    server = kubeconfig["clusters"][0]["cluster"]["server"]
    options = {"kubeconfig": None, "host": server, "api_key": "wrong-but-secret", "validate_certs": False}
    with pytest.raises(ApiError) as refused:
        connect(patience=30, **options).list(NODE)
    assert refused.value.status == 401
    assert "secret" not in refused.value.message


# --- credentials


@pytest.mark.parametrize("groups", [["system:masters", "painters"], ["painters", "system:masters"]])
def test_every_group_that_is_impersonated_counts(connect, groups):
    assert connect(impersonate_user="somebody", impersonate_groups=groups).table(NODE)


def test_a_context_that_is_not_there_is_named_with_those_that_are(lab, kubeconfig):
    known = kubeconfig["contexts"][0]["name"]
    with pytest.raises(GangError, match=f"'labx'.*; its contexts: {known}"):
        Cluster.connect({"kubeconfig": str(lab.kubeconfig), "context": "labx"})


@pytest.mark.parametrize("missing", ["/nowhere/kubeconfig"])
def test_a_kubeconfig_that_is_not_there_is_named(missing):
    with pytest.raises(GangError, match=missing):
        Cluster.connect({"kubeconfig": missing})


def test_a_kubeconfig_may_be_a_dictionary(connect, kubeconfig):
    assert connect(kubeconfig=kubeconfig).table(NODE)


@pytest.fixture
def readers_token(kubectl, namespace):
    """The token of a service account that may view the test's namespace and nothing else."""
    kubectl("create", "serviceaccount", "reader", "--namespace", namespace)
    kubectl(
        "create", "rolebinding", "reader", "--clusterrole=view", f"--serviceaccount={namespace}:reader", "-n", namespace
    )
    return kubectl("create", "token", "reader", "--namespace", namespace).strip()


def test_a_service_accounts_token_suffices(connect, kubeconfig, readers_token, namespace):
    server = kubeconfig["clusters"][0]["cluster"]["server"]
    reader = connect(kubeconfig=None, host=server, api_key=readers_token, validate_certs=False)
    assert reader.table(CONFIG_MAP, namespace)
    with pytest.raises(ApiError, match=f"system:serviceaccount:{namespace}:reader"):
        reader.table(NODE)


def test_an_exec_plugins_token_is_used(connect, kubeconfig, readers_token, namespace):
    version = "client.authentication.k8s.io/v1"
    credential = {"apiVersion": version, "kind": "ExecCredential", "status": {"token": readers_token}}
    plugin = {"apiVersion": version, "command": "echo", "args": [json.dumps(credential)], "interactiveMode": "Never"}
    user = {"name": kubeconfig["users"][0]["name"], "user": {"exec": plugin}}
    assert connect(kubeconfig={**kubeconfig, "users": [user]}).table(CONFIG_MAP, namespace)


# --- watching


def test_a_watch_tells_of_a_change_and_ends_when_it_is_closed(cluster, kubectl, namespace):
    watch = cluster.watch(CONFIG_MAP, namespace, fields="metadata.name=settings", seconds=30)
    seen = []
    listener = threading.Thread(target=lambda: seen.extend(watch))
    listener.start()
    kubectl("create", "configmap", "settings", "--namespace", namespace)
    kubectl("create", "configmap", "other", "--namespace", namespace)
    kubectl("delete", "configmap", "settings", "--namespace", namespace)
    time.sleep(0.5)
    watch.close()
    listener.join(5)
    assert not listener.is_alive()
    assert seen == ["ADDED", "DELETED"]


@pytest.fixture
def new_kind(kubectl):
    """A kind that the server has served for a moment only, so that it knows nothing of earlier versions."""
    kind = Kind("contract.kubegang.dev", "v1", "Thing", "things")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"kind": kind.kind, "plural": kind.plural},
            "versions": [{"name": kind.version, "served": True, "storage": True, "schema": schema}],
        },
    }
    kubectl.apply(definition)
    yield kind
    kubectl("delete", "crd", definition["metadata"]["name"])


def test_a_kind_that_was_defined_a_moment_ago_is_waited_for(cluster, new_kind, namespace):
    assert cluster.list(new_kind, namespace) == []


def test_a_watch_from_a_version_that_is_gone_ends_quietly(cluster, new_kind, namespace):
    # 410 Gone is an event in the stream: https://kubernetes.io/docs/reference/using-api/api-concepts/#410-gone-responses
    cluster.list(new_kind, namespace)
    url = cluster._url(new_kind.path(namespace), {"watch": "true", "resourceVersion": "1", "timeoutSeconds": "5"})
    streams = [
        cluster._exchange("GET", url, "watch from long ago", accept="application/json", timeout=6, stream=True)
        for _ in range(2)
    ]
    assert json.loads(streams[0].data)["object"]["code"] == 410
    began = time.monotonic()
    assert list(Watch(streams[1])) == []
    assert time.monotonic() - began < 4


def test_a_wait_goes_on_when_its_watch_is_dropped(through_relay, relay, kubectl, namespace):
    cluster = through_relay(patience=30)
    looks = []

    def read():
        looks.append(cluster.get(CONFIG_MAP, "settings", namespace))
        if len(looks) == 2:
            relay.drop()
            kubectl("create", "configmap", "settings", "--namespace", namespace)
        return looks[-1]

    with Wake(cluster, [Source(CONFIG_MAP, namespace)]) as wake:
        found, outcome = wait_until(read, lambda seen: Outcome(seen is not None), wake, Deadline(20))
    assert outcome.satisfied
    assert found == stored(kubectl, namespace)


def test_a_wait_without_the_right_to_watch_looks_now_and_then(connect, kubectl, namespace, user_with):
    looker = user_with({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]})
    cluster = connect(impersonate_user=looker, patience=30)
    threading.Timer(1, kubectl, ("create", "configmap", "settings", "--namespace", namespace)).start()
    with Wake(cluster, [Source(CONFIG_MAP, namespace)]) as wake:
        _found, outcome = wait_until(
            lambda: cluster.get(CONFIG_MAP, "settings", namespace),
            lambda seen: Outcome(seen is not None),
            wake,
            Deadline(20),
        )
    assert outcome.satisfied


# --- a network that fails


def test_a_server_that_never_answers_is_given_up_two_seconds_after_the_deadline_at_the_latest(through_relay, relay):
    relay.silent = True
    began = time.monotonic()
    with pytest.raises(ApiError, match="no answer"):
        through_relay(patience=1).list(NODE)
    assert time.monotonic() - began < 1 + 2 + 0.5


def test_a_dropped_connection_is_opened_anew_within_the_deadline(through_relay, relay):
    cluster = through_relay(patience=10)
    assert cluster.list(NODE)
    relay.drop()
    assert cluster.list(NODE)
    assert relay.accepted > 1


def test_a_server_that_nobody_listens_for_is_named_with_the_reason(connect, kubeconfig):
    options = {"kubeconfig": None, "host": "https://127.0.0.1:9", "api_key": "x"}
    with pytest.raises(ApiError, match=r"could not list nodes v1 in https://127\.0\.0\.1:9: .*[Rr]efused"):
        connect(patience=0, **options).list(NODE)
