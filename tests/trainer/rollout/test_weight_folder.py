import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file  # noqa: E402

from grpo_trainer.rollout import RolloutError  # noqa: E402
from grpo_trainer.rollout.weight_folder import WeightFolder  # noqa: E402
from grpo_trainer.weights import full_weights  # noqa: E402
from tests.trainer.tiny_models import tiny_model  # noqa: E402


def read(folder: Path) -> dict[str, torch.Tensor]:
    return {name: w for file in folder.glob("*.safetensors") for name, w in load_file(file).items()}


@pytest.mark.parametrize("part_bytes", [1, 10_000, 2**31])
def test_every_weight_arrives_the_tied_head_too_in_the_engines_precision(
    tmp_path: Path, part_bytes: int
) -> None:
    model = tiny_model(tied=True)
    folder = WeightFolder(tmp_path / "weights", torch.bfloat16, part_bytes=part_bytes)
    found = read(folder.write(full_weights(model), 3))
    assert set(found) == set(model.state_dict())
    assert torch.equal(found["lm_head.weight"], model.model.embed_tokens.weight.detach().to(torch.bfloat16))
    assert all(w.dtype == torch.bfloat16 for w in found.values())


def test_one_version_is_there_at_a_time_and_none_in_the_end(tmp_path: Path) -> None:
    folder = WeightFolder(tmp_path / "run" / "weights", torch.float32)
    weights = [("w", torch.ones(2))]
    first, second = folder.write(weights, 0), folder.write(weights, 1)
    assert not first.exists()
    assert [path.name for path in folder.root.iterdir()] == [second.name]
    folder.clear()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_half_written_goes_with_the_next_version(tmp_path: Path) -> None:
    folder = WeightFolder(tmp_path / "weights", torch.float32)
    (folder.root / ".version-3.partial").mkdir(parents=True)
    final = folder.write([("w", torch.ones(2))], 4)
    assert [path.name for path in folder.root.iterdir()] == [final.name]


def test_a_transfer_that_breaks_off_leaves_the_old_version_and_nothing_in_the_end(tmp_path: Path) -> None:
    folder = WeightFolder(tmp_path / "weights", torch.float32, part_bytes=1)

    def full_disk() -> Iterator[tuple[str, torch.Tensor]]:
        yield "w", torch.ones(2)
        raise OSError(errno.ENOSPC, "No space left on device")

    old = folder.write([("w", torch.ones(2))], 0)
    with pytest.raises(RolloutError, match=r"No space.*rollout.weights"):
        folder.write(full_disk(), 1)
    assert list(read(old)) == ["w"]
    folder.clear()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_there_before_stays(tmp_path: Path) -> None:
    (tmp_path / "ram").mkdir()
    folder = WeightFolder(tmp_path / "ram" / "weights", torch.float32)
    folder.write([("w", torch.ones(2))], 0)
    folder.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["ram"]
    assert list((tmp_path / "ram").iterdir()) == []


def test_a_file_of_someone_else_stays(tmp_path: Path) -> None:
    folder = WeightFolder(tmp_path / "weights", torch.float32)
    folder.write([("w", torch.ones(2))], 0)
    (folder.root / "notes.txt").write_text("mine")
    folder.clear()
    assert [path.name for path in folder.root.iterdir()] == ["notes.txt"]


def test_a_process_that_does_not_write_goes_through_the_weights_all_the_same(tmp_path: Path) -> None:
    gone_through = []

    def weights() -> object:
        for name in "ab":
            gone_through.append(name)
            yield name, torch.ones(1)

    WeightFolder(tmp_path / "weights", torch.float32, writes=False).write(weights(), 0)  # type: ignore[arg-type]
    assert gone_through == ["a", "b"]
    assert list(tmp_path.iterdir()) == []
