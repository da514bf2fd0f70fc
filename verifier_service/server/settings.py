"""Settings of the service. Each is an environment variable VERIFIER_<NAME> and a flag of `verifier serve`."""

import ipaddress
import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from verifier_service.server.secret_files import SUFFIX, SecretFiles

ENV_PREFIX = "VERIFIER_"
ALIKE = 0.87  # of two names: one letter more, fewer, or two in the other order


def usable_cores() -> int:
    """Cores that this process may use: its affinity, and the CPU quota of its container where one is set."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            cores = min(cores, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        pass  # no cgroup v2 here: affinity is all there is to know
    return max(1, cores)


class Settings(BaseSettings):
    """How the service listens, what it takes, how it judges. The descriptions are the help of the flags."""

    # Compose files set variables to nothing where they mean to leave them out.
    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_ignore_empty=True, extra="ignore", frozen=True
    )

    host: str = Field(default="127.0.0.1", description="Address to listen on; 0.0.0.0 for every interface.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    root_path: str = Field(default="", description="Path prefix under which a proxy publishes the service.")
    api_key: SecretStr | None = Field(
        default=None,
        description="Key that callers must send as `Authorization: Bearer KEY`; none: open to all.",
    )
    keys_file: Path | None = Field(
        default=None,
        description="File of API keys by name (`verifier keys`), read again when it changes.",
    )
    workers: int = Field(
        default_factory=usable_cores,
        ge=1,
        le=512,
        description="Worker processes that judge; by default one per usable core.",
    )
    profile: str = Field(default="accuracy", description="Profile of requests that name none.")
    profiles: Path | None = Field(
        default=None, description="Folder with profiles of your own, one TOML file each."
    )
    data_sources: dict[str, str] = Field(
        default_factory=dict,
        description='Profile by `data_source` of an item, as a JSON object: {"gsm8k": "accuracy"}.',
    )
    max_body_bytes: int = Field(
        default=16 * 2**20,
        ge=1024,
        description="Largest request body in bytes; a larger one is answered with 413.",
    )
    max_items: int = Field(
        default=4096, ge=1, description="Most items (or golds) in one request; more are answered with 413."
    )
    max_values: int = Field(
        default=131_072,
        ge=1024,
        description="Most JSON values in one request, by its commas and brackets; more are answered with 413.",
    )
    queue_items: int = Field(
        default=8192,
        ge=1,
        description="Items at work or waiting from which on further requests are answered with 503.",
    )
    queue_s: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds of work at hand from which on further requests are answered with 503.",
    )
    queue_mb: int = Field(
        default=256,
        ge=1,
        description="Bodies held at a time, in MiB, from which on further requests are answered with 503.",
    )
    rate_items: int = Field(
        default=0, ge=0, description="Items that one key may have judged in a minute; 0: no limit."
    )
    rate_mb: int = Field(
        default=0, ge=0, description="Bodies that one key may send in a minute, in MiB; 0: no limit."
    )
    rate_on_failure: Literal["fail_open", "fail_closed"] = Field(
        default="fail_open",
        description="Without Redis: limit each replica by itself, or answer 503.",
    )
    receive_s: float = Field(
        default=30.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds for the head of a request, and for its body; a slower one is answered with 408.",
    )
    deadline_s: float = Field(
        default=10.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds that a request may take unless it says otherwise by `deadline_s`.",
    )
    max_deadline_s: float = Field(
        default=120.0,
        gt=0,
        allow_inf_nan=False,
        description="Largest `deadline_s` that a request may ask for; more is answered with 422.",
    )
    item_cpu_s: float = Field(
        default=1.5,
        gt=0,
        allow_inf_nan=False,
        description="CPU seconds that one item may take in a worker before the worker is killed.",
    )
    memory_mb: int = Field(default=1024, ge=128, description="Memory limit of a worker in MiB.")
    recycle_after: int = Field(
        default=20_000, ge=1, description="Items after which a worker is replaced by a fresh one."
    )
    cache_mb: int = Field(
        default=128, ge=0, description="Memory for results of items seen before, in MiB; 0: no cache."
    )
    redis_url: SecretStr | None = Field(
        default=None,
        description="Redis that replicas share, such as redis://:PASSWORD@HOST:6379/0; none: each on its own.",
    )
    redis_timeout_s: float = Field(
        default=0.2,
        gt=0,
        allow_inf_nan=False,
        description="Seconds that Redis may take to answer; a slower one is left alone for a while.",
    )
    redis_ttl_s: int = Field(
        default=604_800, ge=1, description="Seconds for which results are kept in Redis."
    )
    drain_s: float = Field(
        default=0.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds after SIGTERM for balancers to learn of it: not ready, answers 503, still listens.",
    )
    shutdown_s: float = Field(
        default=10.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds that requests in flight may take to finish after SIGTERM.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level of log lines. Texts of completions are never logged."
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="Log lines as text, or as one JSON object each."
    )

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], *args: Any, **sources: PydanticBaseSettingsSource
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then variables, then secrets in files."""
        return sources["init_settings"], sources["env_settings"], SecretFiles(settings_cls)

    @field_validator("root_path")
    @classmethod
    def _with_one_leading_slash(cls, value: str) -> str:
        stripped = value.strip("/")
        return f"/{stripped}" if stripped else ""

    @field_validator("api_key", "redis_url")
    @classmethod
    def _not_blank(cls, value: SecretStr | None) -> SecretStr | None:
        """A blank secret is none: it must not become one that an empty header holds."""
        return value if value is not None and value.get_secret_value().strip() else None

    @model_validator(mode="after")
    def _deadlines_agree(self) -> Self:
        if self.deadline_s > self.max_deadline_s:
            raise ValueError("deadline_s should not be above max_deadline_s")
        return self

    @property
    def is_public(self) -> bool:
        """Whether others than this machine can reach the address."""
        if self.host == "localhost":
            return False
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return True


def misspelt(names: Iterable[str]) -> list[tuple[str, str]]:
    """Variables that look like one of a setting and are none, each with the one that was meant."""
    known = [variable(name) for name in Settings.model_fields]
    others = {f"{name}{SUFFIX}" for name in known} | set(known)
    found = [name for name in names if name.startswith(ENV_PREFIX) and name not in others]
    nearest = [(name, get_close_matches(name, known, 1, ALIKE)) for name in found]
    return [(name, meant[0]) for name, meant in nearest if meant]


def variable(name: str) -> str:
    """The environment variable of a setting: max_items -> VERIFIER_MAX_ITEMS."""
    return ENV_PREFIX + name.upper()
