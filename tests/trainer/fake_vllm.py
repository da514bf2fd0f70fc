"""A server that speaks as vLLM 0.32 does, as far as the trainer asks, with a tiny model of transformers behind it.

What is promised of the real one is tried in rollout/test_real_vllm_*.py; this one can be made to fail at will.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from safetensors.torch import load_file

from grpo_trainer.rollout.engine import Answer, Sampling
from grpo_trainer.rollout.transformers_engine import TransformersEngine
from tests.trainer.tiny_models import tiny_model

Reply = tuple[int, Any]


@dataclass
class FakeVllm:
    """asked: every route, in order.  broken: a route to the status and text that it answers with.

    hung: nothing is answered any more.  deaf: the connection is closed without an answer.
    version: that completions carry.  stale_head: new weights never reach the output head.
    """

    max_model_len: int = 64
    version: str = "default"
    asked: list[str] = field(default_factory=list)
    prompts: list[list[int]] = field(default_factory=list)
    broken: dict[str, Reply] = field(default_factory=dict)
    hung: bool = False
    deaf: bool = False
    stale_head: bool = False
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)
    model: Any = field(default_factory=lambda: tiny_model(99, tied=False))

    def restart(self) -> None:
        """As after a crash: it answers, with the weights of its start."""
        self.model, self.version = tiny_model(99, tied=False), "default"
        self.deaf = self.hung = False

    def answer(self, route: str, body: dict[str, Any]) -> Reply:
        self.asked.append(route)
        if route in self.broken:
            return self.broken[route]
        with self.lock:
            match route:
                case "/v1/models":
                    return 200, {"data": [{"id": "m", "max_model_len": self.max_model_len}]}
                case "/weight_info":
                    return 200, {"weight_version": self.version}
                case "/collective_rpc":
                    self.load(Path(body["kwargs"]["weights_path"]))
                case "/reset_prefix_cache":
                    return 200, {"success": True}
                case "/update_weight_version":
                    self.version = body["new_version"]
                case "/inference/v1/generate":
                    return 200, {"choices": self.choices(body)}
        return 200, {}

    def load(self, folder: Path) -> None:
        weights = {name: w for file in folder.glob("*.safetensors") for name, w in load_file(file).items()}
        if self.stale_head:
            weights["lm_head.weight"] = self.model.lm_head.weight.detach()
        self.model.load_state_dict(weights)

    def choices(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        params = body["sampling_params"]
        self.prompts.append(body["token_ids"])
        engine = TransformersEngine(self.model, params["stop_token_ids"])
        sampling = Sampling(params["temperature"], params["max_tokens"], params["seed"])
        (group,) = engine.generate([body["token_ids"]], params["n"], sampling)
        return [self.choice(place, answer) for place, answer in enumerate(group.answers)]

    def choice(self, place: int, answer: Answer) -> dict[str, Any]:
        return {
            "index": place,
            "token_ids": list(answer.token_ids),
            "logprobs": {"content": [{"logprob": logprob} for logprob in answer.logprobs]},
            "finish_reason": answer.finish,
            "weight_versions": [{"version": self.version, "start": 0, "end": len(answer.token_ids)}],
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    fake: FakeVllm

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._reply({})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._reply(json.loads(raw) if raw else {})

    def _reply(self, body: dict[str, Any]) -> None:
        fake = self.server.fake
        if fake.deaf:
            self.close_connection = True
            return
        if fake.hung:
            fake.over.wait()
            return
        status, content = fake.answer(urlsplit(self.path).path, body)
        raw = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002


@contextmanager
def fake_vllm(**options: Any) -> Iterator[FakeVllm]:
    """A fake that serves on a port of its own."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.fake = FakeVllm(url=f"http://127.0.0.1:{server.server_address[1]}", **options)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.fake
        finally:
            server.fake.over.set()
            server.shutdown()
            thread.join()
