"""The manifests fit Kubernetes' own schemas, one another, and the service."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from tests.verifier_service.server.fakes import FakeBackend
from verifier_service.server.app import create_app
from verifier_service.server.settings import ENV_PREFIX, Settings

VERSIONS = ("1.31", "1.37")
ADAPTER = "adapter.yaml"


@pytest.fixture(scope="module")
def folder(root: Path) -> Path:
    return root / "docker" / "kubernetes"


@pytest.fixture(scope="module")
def kustomization(folder: Path) -> dict[str, Any]:
    found = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def manifests(folder: Path, kustomization: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        manifest
        for name in kustomization["resources"]
        for manifest in yaml.safe_load_all((folder / name).read_text())
    ]


def one(manifests: list[dict[str, Any]], kind: str, name: str = "verifier") -> dict[str, Any]:
    (found,) = [each for each in manifests if each["kind"] == kind and each["metadata"]["name"] == name]
    return found


def pods(manifests: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for manifest in manifests:
        if manifest["kind"] in ("Deployment", "StatefulSet"):
            yield manifest["spec"]["template"]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_fits_its_schema(manifests: list[dict[str, Any]], version: str) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for manifest in manifests:
        validator.validate(manifest, version, strict=True)


def test_the_check_of_schemas_can_fail(manifests: list[dict[str, Any]]) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    misspelt = one(manifests, "PodDisruptionBudget") | {"spec": {"maxUnavailible": 1}}
    with pytest.raises(validator.ValidationError):
        validator.validate(misspelt, VERSIONS[0], strict=True)


def test_every_file_is_used(folder: Path, kustomization: dict[str, Any]) -> None:
    here = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(kustomization["resources"]) == here


def test_selectors_find_the_pods_they_mean(manifests: list[dict[str, Any]]) -> None:
    labels = {pod["metadata"]["labels"]["app.kubernetes.io/name"]: pod for pod in pods(manifests)}
    assert set(labels) == {"verifier", "verifier-redis"}
    for name in labels:
        wanted = {"app.kubernetes.io/name": name}
        assert one(manifests, "Service", name)["spec"]["selector"] == wanted
        assert one(manifests, "NetworkPolicy", name)["spec"]["podSelector"]["matchLabels"] == wanted
    budget = one(manifests, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"]
    assert budget == {"app.kubernetes.io/name": "verifier"}
    target = one(manifests, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
    assert one(manifests, target["kind"], target["name"])["apiVersion"] == target["apiVersion"]


def test_no_pod_may_do_more_than_it_has_to(manifests: list[dict[str, Any]]) -> None:
    for pod in pods(manifests):
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "memory" in container["resources"]["limits"]


def judge(manifests: list[dict[str, Any]]) -> dict[str, Any]:
    (container,) = one(manifests, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert isinstance(container, dict)
    return container


def test_the_pod_runs_as_the_image_says(manifests: list[dict[str, Any]], root: Path) -> None:
    image = (root / "docker" / "verifier.Dockerfile").read_text()
    spec = one(manifests, "Deployment")["spec"]["template"]["spec"]
    user = spec["securityContext"]
    assert f"USER {user['runAsUser']}:{user['runAsGroup']}\n" in image
    assert f"EXPOSE {judge(manifests)['ports'][0]['containerPort']}\n" in image


def test_the_settings_are_those_of_the_service_and_it_has_time_to_leave(
    manifests: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {entry["name"]: entry["value"] for entry in judge(manifests)["env"]}
    assert {name.removeprefix(ENV_PREFIX).lower() for name in given} <= set(Settings.model_fields)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    grace = one(manifests, "Deployment")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace >= settings.drain_s + settings.shutdown_s + 5


def test_probes_ask_what_the_service_answers(manifests: list[dict[str, Any]]) -> None:
    container = judge(manifests)
    paths = {name: container[name]["httpGet"]["path"] for name in container if name.endswith("Probe")}
    assert paths == {"startupProbe": "/readyz", "readinessProbe": "/readyz", "livenessProbe": "/healthz"}


def test_the_autoscaler_asks_for_what_the_adapter_makes_of_what_there_is(
    manifests: list[dict[str, Any]], folder: Path
) -> None:
    (rule,) = yaml.safe_load((folder / "monitoring" / ADAPTER).read_text())["rules"]["custom"]
    (metric,) = one(manifests, "HorizontalPodAutoscaler")["spec"]["metrics"]
    assert metric["pods"]["metric"]["name"] == rule["name"]["as"]
    with TestClient(create_app(Settings(), backend=FakeBackend())) as client:
        text = client.get("/metrics").text
    there = {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}
    asked = set(re.findall(r"\bverifier_\w+", rule["seriesQuery"] + rule["metricsQuery"]))
    assert asked
    assert asked <= there
