"""Traces for OpenTelemetry: off, unless an address to send them to is set and the extra `otel` is installed."""

import logging
import os
from threading import Thread
from typing import TYPE_CHECKING

import verifier_service

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

ADDRESSES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
# A collector that is gone must not keep the service from leaving.
LAST_SPANS_S = 2.0

log = logging.getLogger(__name__)


def tracing_provider() -> "TracerProvider | None":
    """What sends spans, as the variables OTEL_* say; None where they are not to be sent, or cannot be."""
    address = next((name for name in ADDRESSES if os.environ.get(name)), None)
    if address is None or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as missing:
        log.warning(
            'no traces are sent: %s is set, which needs %s: pip install "verifier-service[otel]"',
            address,
            missing.name,
        )
        return None
    name = os.environ.get("OTEL_SERVICE_NAME") or "verifier"
    about = {"service.name": name, "service.version": verifier_service.__version__}
    provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def send_last_spans(provider: "TracerProvider") -> None:
    """Sends what waits, and gives up after a moment."""
    # In a thread that nobody waits for any longer: the exporter's own patience is greater.
    sending = Thread(target=provider.shutdown, name="last-spans", daemon=True)
    sending.start()
    sending.join(LAST_SPANS_S)
    if sending.is_alive():
        log.warning("the last traces could not be sent within %g s", LAST_SPANS_S)
