"""The app, put together from its rooms, and the process that serves it."""

import asyncio
import gc
import json
import logging
import math
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.responses import Response

import verifier_service
from verifier_service.cache import MB
from verifier_service.server.admission import Admission
from verifier_service.server.auth import KeyGate
from verifier_service.server.backend import Backend, Starter
from verifier_service.server.connections import protocol_within
from verifier_service.server.decoding import Decoder
from verifier_service.server.judging import JudgeBackend, redis_link
from verifier_service.server.keyring import Keyring
from verifier_service.server.lag import watch_lag
from verifier_service.server.lifecycle import LAST_WORDS_S, DrainingServer
from verifier_service.server.limits import Limiter, Quota
from verifier_service.server.logs import set_up_logs
from verifier_service.server.metrics import Metrics
from verifier_service.server.native import router as native
from verifier_service.server.openapi import openapi_document
from verifier_service.server.pages import router as pages
from verifier_service.server.paths import Prefixed
from verifier_service.server.problems import HANDLERS
from verifier_service.server.routes import router
from verifier_service.server.service import Service
from verifier_service.server.settings import Settings, misspelt
from verifier_service.server.tracing import send_last_spans, tracing_provider
from verifier_service.server.tracking import Tracker
from verifier_service.spread import Spread

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

log = logging.getLogger(__name__)

# Labels of metrics: a path from outside never becomes one.
KNOWN_PATHS = frozenset(
    {
        "/openapi.json",
        *(
            route.path
            for route in (*router.routes, *native.routes, *pages.routes)
            if isinstance(route, APIRoute)
        ),
    }
)


# Objects made between two looks of the collector of cycles, and how much rarer the longer looks are. A batch is some
# ten thousand objects that end without it; as Python sets it, it looks through the batches at work again and again.
COLLECTED_AFTER = (50_000, 20, 50)
# Characters of a key that was drawn at random, from which on trying them all is hopeless at any rate of requests.
SHORTEST_KEY = 20


class ServeError(RuntimeError):
    """The service cannot listen; the message says what to change."""


def create_app(
    settings: Settings | None = None,
    *,
    backend: Backend | None = None,
    on_failure: Callable[[], None] = lambda: None,
) -> FastAPI:
    """The app with its workers, which are born when it starts up and die when it shuts down.

    backend: in place of the real one, for tests. on_failure: called if the workers cannot be started.
    Raises UnknownProfile, ProfileError or KeyFileError where the settings name what is not there.
    """
    settings = settings or Settings()
    backend = backend or JudgeBackend(settings)
    starter = Starter(backend, on_failure)
    one = None if settings.api_key is None else settings.api_key.get_secret_value()
    keyring = Keyring(one, settings.keys_file)
    admission = Admission(
        settings.queue_items, settings.queue_mb * MB, settings.queue_s, lambda: backend.backlog_s
    )
    limiter = _limiter(settings)
    metrics = Metrics(backend.figures, lambda: service.ready, admission.stats, limiter.stats)
    decoder = Decoder(settings.max_items, settings.max_values)
    service = Service(settings, backend, starter, decoder, metrics, admission, keyring, limiter)
    tracing = tracing_provider()
    app = FastAPI(
        title="Verifier service",
        version=verifier_service.__version__,
        lifespan=partial(_lifespan, starter, limiter, metrics.lag, tracing),
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers=HANDLERS,
    )
    app.state.service = service
    app.include_router(router)
    app.include_router(native)
    app.include_router(pages)
    _add_document(app)
    if keyring.guards:
        app.add_middleware(KeyGate, keyring=keyring)
    # What is added later stands further out: a refusal is tracked like any other reply.
    app.add_middleware(Tracker, metrics=metrics, routes=KNOWN_PATHS)
    if tracing is not None:
        from verifier_service.server.spans import Traced

        app.add_middleware(Traced, tracer=tracing.get_tracer("verifier_service"), routes=KNOWN_PATHS)
    if settings.root_path:
        app.add_middleware(Prefixed, prefix=settings.root_path)
    return app


@asynccontextmanager
async def _lifespan(
    starter: Starter, limiter: Limiter, lag: Spread, tracing: "TracerProvider | None", _: FastAPI
) -> AsyncIterator[None]:
    starter.begin()
    watching = asyncio.create_task(watch_lag(lag))
    try:
        yield
    finally:
        watching.cancel()
        await starter.end()
        await limiter.close()
        if tracing is not None:
            send_last_spans(tracing)


def _limiter(settings: Settings) -> Limiter:
    quotas = [
        Quota("items", settings.rate_items, "rate_items"),
        Quota("bytes", settings.rate_mb * MB, "rate_mb", "content-bytes"),
    ]
    limited = any(quota.most for quota in quotas)
    link = redis_link(settings) if limited else None
    return Limiter(quotas, link, settings.rate_on_failure)


def _add_document(app: FastAPI) -> None:
    content = json.dumps(openapi_document(app), ensure_ascii=False).encode()

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return Response(content, media_type="application/json")


def serve(settings: Settings | None = None) -> int:
    """Serves until SIGTERM or Ctrl-C, in one process; returns the exit code. Raises ServeError.

    SIGTERM ends it well: not ready at once, no new connections after `drain_s`, then requests in flight have
    `shutdown_s`, and the exit code is 0. At SIGHUP it reads profiles and keys again.
    """
    settings = settings or Settings()
    set_up_logs(settings.log_level, settings.log_format)
    for name, meant in misspelt(os.environ):
        log.warning("%s is no setting, and does nothing; is %s meant?", name, meant)
    server: DrainingServer
    failed = False

    def give_up() -> None:
        nonlocal failed
        failed = server.should_exit = True

    app = create_app(settings, on_failure=give_up)
    listener = _listener(settings)
    _warn_if_open(settings)
    server = _server(app, settings)
    # uvicorn raises the signals it caught again when it is done; by then there is nothing left to end.
    before = signal.signal(signal.SIGTERM, _nothing), signal.signal(signal.SIGHUP, server.renew_at_next_tick)
    # What is loaded by now lives as long as the process: the collector of cycles, which holds up every request
    # while it looks through all there is, need not look at it again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)
    log.info("verifier %s on %s, %d workers", app.version, _address(listener), settings.workers)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGHUP, before[1])
    return 1 if failed or not server.started else 0


def _server(app: FastAPI, settings: Settings) -> DrainingServer:
    service: Service = app.state.service
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        http=protocol_within(settings.receive_s),
        ws="none",
        # Longer than clients and proxies keep an idle connection: a trainer calls once in a while.
        timeout_keep_alive=65,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_s) + LAST_WORDS_S,
    )
    return DrainingServer(
        config,
        drain_s=settings.drain_s,
        on_drain=service.drain,
        on_leave=lambda: service.backend.hurry(settings.shutdown_s),
        on_renew=service.renew,
    )


def _nothing(number: int, frame: FrameType | None) -> None:
    """A signal handler for a process that has ended already."""


def _listener(settings: Settings) -> socket.socket:
    """A bound socket: whoever else has the port is found out before any worker is started."""
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise ServeError(f'cannot listen on "{settings.host}": {error.strerror}') from None
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        hint = "choose another with --port (VERIFIER_PORT), or --port 0 for a free one"
        raise ServeError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}; {hint}"
        ) from None
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _warn_if_open(settings: Settings) -> None:
    if not settings.is_public:
        return
    if settings.api_key is None and settings.keys_file is None:
        log.warning(
            "LISTENING ON %s WITHOUT AN API KEY: whoever reaches this address can use the service. "
            "Set VERIFIER_API_KEY or VERIFIER_KEYS_FILE, or listen on 127.0.0.1.",
            settings.host,
        )
    elif settings.api_key is not None and len(settings.api_key.get_secret_value()) < SHORTEST_KEY:
        log.warning(
            "LISTENING ON %s WITH A SHORT API KEY: one of less than %d characters can be guessed. "
            "`verifier keys add NAME` makes one that cannot.",
            settings.host,
            SHORTEST_KEY,
        )
