import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("torch")

from grpo_trainer.config import TrainConfig
from grpo_trainer.loading import load_config
from grpo_trainer.ranks import ALONE, LaunchError, Ranks, joined, launched

TWO = {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}


def config_of(*words: str) -> TrainConfig:
    return load_config("tiny-cpu", overrides=words)


def test_without_a_launcher_there_is_one_process() -> None:
    assert launched(config_of(), {}) == ALONE
    with joined(config_of()) as ranks:
        assert ranks == ALONE


def test_the_launcher_says_which_process_this_is() -> None:
    assert launched(config_of("distributed.engine=ddp"), TWO) == Ranks(1, 2, 1, 2)


@pytest.mark.parametrize(
    "words, environment",
    [
        (["distributed.engine=fsdp"], {}),
        (["distributed.engine=fsdp", "distributed.world_size=4"], TWO),
        (["distributed.engine=ddp", "distributed.world_size=2"], {}),
    ],
)
def test_fewer_processes_than_wanted_are_refused_with_the_command(
    words: list[str], environment: dict[str, str]
) -> None:
    with pytest.raises(LaunchError, match=r"was started: torchrun --standalone --nproc_per_node"):
        launched(config_of(*words), environment)


def test_more_processes_than_the_config_knows_of_are_refused() -> None:
    with pytest.raises(LaunchError, match="a model of its own"):
        launched(config_of(), TWO)


def test_questions_that_do_not_come_out_even_are_refused() -> None:
    words = ["distributed.engine=ddp", "batch.answers_per_step=24", "batch.group_size=8"]
    with pytest.raises(LaunchError, match=r"a step of 3 questions .* set batch.answers_per_step to 16 or 32"):
        launched(config_of(*words), TWO)


def test_what_is_dealt_comes_out_even_and_in_order() -> None:
    parts = [Ranks(rank, 3).part(range(7)) for rank in range(3)]
    assert parts == [[0, 3, 6], [1, 4], [2, 5]]
    assert ALONE.together(ALONE.part(range(7))) == list(range(7))


def test_alone_nothing_is_asked_of_anyone() -> None:
    assert ALONE.gathered("mine") == ["mine"]
    assert ALONE.total(2.5) == 2.5
    assert ALONE.from_first("told") == "told"
    assert list(ALONE.turns()) == [None]
    ALONE.wait()


def test_machines_of_different_numbers_of_processes_wait_for_as_many_turns() -> None:
    barrier = threading.Barrier(3, timeout=5)

    class Linked(Ranks):
        def gathered(self, value: Any) -> list[Any]:
            return [2, 2, 1]

        def wait(self) -> None:
            barrier.wait()

    processes = [Linked(0, 3, 0, 2), Linked(1, 3, 1, 2), Linked(2, 3, 0, 1)]
    with ThreadPoolExecutor(3) as threads:
        turns = list(threads.map(lambda process: list(process.turns()), processes))
    assert turns == [[None]] * 3
