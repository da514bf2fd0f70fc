"""What the routes of one app share, and whether it can work now."""

from dataclasses import dataclass, field

from starlette.requests import Request

from verifier_service.server.admission import Admission
from verifier_service.server.backend import Backend, Starter
from verifier_service.server.decoding import Decoder
from verifier_service.server.keyring import Keyring
from verifier_service.server.limits import Limiter
from verifier_service.server.metrics import Metrics
from verifier_service.server.problems import ProblemError
from verifier_service.server.settings import Settings
from verifier_service.server.turnstile import Turnstile


@dataclass(frozen=True, slots=True)
class Service:
    """It is at `app.state.service`."""

    settings: Settings
    backend: Backend
    starter: Starter
    decoder: Decoder
    metrics: Metrics
    admission: Admission
    keyring: Keyring
    limiter: Limiter
    turnstile: Turnstile = field(default_factory=Turnstile)

    @property
    def ready(self) -> bool:
        """Whether a balancer should send requests here."""
        return self.starter.started and self.backend.ready and not self.admission.draining

    def drain(self) -> None:
        """From now on nothing new is taken; safe to call from a signal handler."""
        self.admission.draining = True

    def renew(self) -> None:
        """Reads profiles and keys again; what cannot be read stays as it was."""
        self.keyring.reload()
        self.backend.renew()


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def check_started(service: Service) -> None:
    """Raises ProblemError (503) until there have been workers once."""
    if service.starter.failure:
        raise not_ready(f"the workers could not be started: {service.starter.failure}")
    if not service.starter.started:
        raise not_ready("the workers are starting")


def not_ready(detail: str) -> ProblemError:
    return ProblemError(503, "not-ready", detail, headers={"Retry-After": "1"})
