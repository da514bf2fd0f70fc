from grpo_trainer.loading import load_config
from grpo_trainer.serving import server_command


def test_the_command_for_a_server_fits_the_run() -> None:
    command = server_command(load_config("tiny-cpu", overrides=["model.path=models/tiny"]))
    assert command.startswith("VLLM_SERVER_DEV_MODE=1 python -m vllm.entrypoints.openai.api_server")
    for words in ("--model models/tiny", "--dtype float32", "--max-model-len 56", "--enable-scale-out"):
        assert words in command
