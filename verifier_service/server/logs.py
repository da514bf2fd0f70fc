"""Log lines as text or as JSON. Neither ever holds the text of a completion."""

import json
import logging
import time

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# What a line may say beside its message.
FIELDS = ("request_id", "method", "route", "status", "duration_ms", "key")


_ESCAPED = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


class TextLines(logging.Formatter):
    """A message is one line and steers no terminal, whatever is in it; only a traceback has lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  the name is logging's
        record.message = record.message.translate(_ESCAPED)
        return super().formatMessage(record)


class JsonLines(logging.Formatter):
    """One object per line, in ASCII, so that nothing in it can end the line or steer a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        instant = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "time": f"{instant}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def set_up_logs(level: str, shape: str) -> None:
    """Log lines of this process go to stderr, in this shape."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if shape == "json" else TextLines(TEXT))
    logging.basicConfig(level=level.upper(), handlers=[handler])
