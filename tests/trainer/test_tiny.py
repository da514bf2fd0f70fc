from pathlib import Path

import pytest

pytest.importorskip("torch")

from transformers import AutoTokenizer

from grpo_trainer.tiny import Sum, encoded, make_tokenizer, sums
from tests.trainer.tiny_models import tiny_model


def test_a_sum_is_written_as_r1_answers() -> None:
    one = Sum(47, 85)
    assert (one.question, one.gold) == ("47+85=", "132")
    assert one.completion == "<think>12 12</think>\\boxed{132}"


def test_seen_and_unseen_sums_never_meet() -> None:
    cut = sums(3)
    assert (len(cut.seen), len(cut.unseen)) == (9000, 1000)
    assert not {(s.left, s.right) for s in cut.seen} & {(s.left, s.right) for s in cut.unseen}
    assert sums(3) == cut != sums(4)


def test_the_tokenizer_survives_its_folder_and_gives_back_every_sum(tmp_path: Path) -> None:
    made = make_tokenizer()
    tiny_model().save_pretrained(tmp_path)
    made.save_pretrained(tmp_path)
    read = AutoTokenizer.from_pretrained(tmp_path)
    for one in sums(0).unseen[:200]:
        prompt, answer = encoded(read, one)
        assert (prompt, answer) == encoded(made, one)
        assert read.decode([*prompt, *answer[:-1]]) == one.question + one.completion
        assert answer[-1] == read.eos_token_id != read.pad_token_id
