"""Golds that are sentences: what they conclude, and when they conclude nothing that can be judged."""

import time

import pytest

from verifier_service.equivalence import Context, Gold, Offered, Part, Rules, check_gold, decide
from verifier_service.equivalence.conclusion import concluded, stated, yes_or_no

CONCLUSIONS = [
    ("Add them. Therefore, the sum is $3+4=7$.", "7"),
    ("We have $a = 3$ and $b = 4$. So the length of the side is $\\sqrt{9+16}=5$.", "5"),
    ("The area of the sector is $6\\pi$. It means that half of the disc is covered.", "6\\pi"),
    ("Add the rows.\n\n$$2 x=6$$\n\nThus the value of the letter is 3 .", "3"),
    ("Here $2+2=4$, so the boat takes $\\frac{8}{4}=2$ hours.", "2 \\text{ hours}"),
    ("The equation simplifies to $X=A+A$, so $X=(2,4)$.", "X=(2,4)"),
    ("It is the line given by the equation $x-2y=0$.", "x-2y=0"),
    ("\\;\\, It is the line $x-2y=0$.\\;\\; ", "x-2y=0"),
    ("The roots are $2$ and $3$.", "2 and 3"),
    ("The decryption key is $5$. Plaintext: \"Meet me\".", "\\text{Meet me}"),
    ("The best fit is $\\mathbf{p}=2 \\mathbf{u}=(4,6)$.", "(4,6)"),
    ("Therefore\n\n$$\n[T]_{B}=\\begin{pmatrix}1\\\\0\\end{pmatrix} .\n$$", "\\begin{pmatrix}1\\\\0\\end{pmatrix}"),
    # two values, or none
    ("The sum is $7$ and the product is $12$.", ""),
    ("The sum is $7$. The product is $12$.", ""),
    ("The sum is $7$. Therefore the sum is $8$.", ""),
    ("The eigenvalues are $1$ and $2$. The eigenvectors are $(1,0)$, $(0,1)$.", ""),
    ("One possible basis is $(1,0)$.", ""),
    ("The rows were exchanged.", ""),
    ("so $A^{n}=I$", ""),
    ("The last column must not be a pivot column.", ""),
    ("", ""),
]  # fmt: skip


@pytest.mark.parametrize("text, expected", CONCLUSIONS)
def test_sentences_come_to_one_value_or_to_nothing(text: str, expected: str) -> None:
    assert concluded(text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Yes, because its rank is full.", "Yes"),
        ("\\text{No. It is not closed under addition.}", "No"),
        ("False; take $x = 0$ as a counterexample.", "False"),
        ("No. Consider $x=1$ and $y=2$.", "No"),
        ("Yes, this is true.", "Yes"),
        ("Yes", ""),
        ("Yes, 5", ""),
        ("Yes, 5 meters", ""),
        ("No solution", ""),
        ("Yes, or no", ""),
        ("Yes. Wait, no.", ""),
        ("Yes, since its rank is full. It is not.", ""),
        ("No, unless $k = 3$.", ""),
        ("True, maybe", ""),
        ("Nonsense, really", ""),
    ],
)
def test_yes_and_no_may_give_their_reason(text: str, expected: str) -> None:
    assert yes_or_no(text) == expected


def judged(gold: str, answer: str) -> str | None:
    offered = Offered((Part(answer),), 1, "box")
    return decide(Gold(any_of=(gold,)), offered, Rules(), Context()).verdict


def test_a_worked_gold_is_judged_by_its_conclusion() -> None:
    gold = "Multiply the sides. The area of the rectangle is $3 \\cdot 4=12$."
    assert judged(gold, "12") == "correct"
    assert judged(gold, gold) == "correct"
    assert judged(gold, "\\text{The area is }12") == "correct"
    assert judged(gold, "3") == "incorrect"


def test_a_reason_is_no_part_of_yes_or_no() -> None:
    assert judged("No. This would lead to $0=1$.", "\\text{No}") == "correct"
    assert judged("No", "No, it is not closed under scalar multiplication.") == "correct"
    assert judged("No. This would lead to $0=1$.", "Yes") == "incorrect"
    assert judged("No", "No, or yes.") == "incorrect"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("The area is $12$.", "12"),
        ("\\text{The area is }12", "12"),
        ("12 \\text{ is the area}", "12"),
        ("So the sum of $5$ and $7$ is $12$", "12"),
        ('The message is "meet me"', "\\text{meet me}"),
        # more than one claim, or none that is held to
        ("The sum is $6$. The sum is $5$.", ""),
        ("The sum is 6, the sum is 5", ""),
        ("The sum is either 6 or the sum is 5", ""),
        ("So $4$. So $5$.", ""),
        ("$4$. Hence $5$.", ""),
        ("4, 5, 6. The middle is 5", ""),
        ("If it is even the sum is 5", ""),
        ("It is false that the value is 5", ""),
        ("The sum is not 5", ""),
        ("\\text{The area is } 14 \\text{ and the width is } 5", ""),
        ("\\text{the area is 14 and the width is } 5", ""),
        ('Message: "four" Message: "five"', ""),
        ('message: "four" or word: "five"', ""),
    ],
)
def test_an_answer_gains_nothing_by_saying_several_things(text: str, expected: str) -> None:
    assert stated(text) == expected


def test_a_gold_that_is_one_of_many_says_so() -> None:
    check = check_gold(
        Gold(any_of=("One possible basis of the space is made of the vectors $(1,0)$ and $(0,1)$.",)),
        Rules(),
        Context(),
    )
    assert check.reason == "the gold is one of many right answers"


@pytest.mark.parametrize(
    "part", ["the ", "A a: . ", "\\(", "the is 5 ", "$$", "\\[", " ", "and the is ", "yes, ", "so $x$ "]
)
def test_long_texts_are_read_in_no_time(part: str) -> None:
    text = part * (5_900 // len(part)) + "so 5"
    start = time.process_time()
    concluded(text)
    yes_or_no(text)
    assert time.process_time() - start < 0.15
