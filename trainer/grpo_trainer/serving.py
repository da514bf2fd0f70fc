"""How to start a vLLM server that a run can draw from."""

from grpo_trainer.config import TrainConfig


def server_command(config: TrainConfig, port: int = 8000) -> str:
    """A command for a shell; further options of vLLM (parallelism, memory) go behind it.

    It names the module, since the command `vllm` does not work in the build for CPUs. The routes that take
    weights know no authentication: the port belongs into a network that only the trainer reaches.
    """
    words = [
        "VLLM_SERVER_DEV_MODE=1",
        "python -m vllm.entrypoints.openai.api_server",
        f"--model {config.model.path or 'MODEL'}",
        f"--port {port}",
        f"--dtype {config.model.precision}",
        f"--max-model-len {config.data.max_prompt_tokens + config.sampling.longest}",
        "--logprobs-mode processed_logprobs",
        "--generation-config vllm",
        "--enable-scale-out",
    ]
    return " ".join(words)
