"""Clean-up before any reading: unicode mathematics, entities, wrappers, Markdown remnants.

Every step is a single linear pass. ASCII text, the common case, skips the unicode steps.
"""

import html
import re
import unicodedata

_COMMANDS = {
    "×": "\\times ", "✕": "\\times ", "÷": "\\div ", "·": "\\cdot ", "⋅": "\\cdot ", "∙": "\\cdot ",
    "•": "\\cdot ", "∗": "*", "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "⁄": "/", "∕": "/", "∶": ":",
    "≤": "\\le ", "≦": "\\le ", "⩽": "\\le ", "≥": "\\ge ", "≧": "\\ge ", "⩾": "\\ge ", "≠": "\\ne ",
    "≈": "\\approx ", "≡": "\\equiv ", "∈": "\\in ", "∉": "\\notin ", "∪": "\\cup ", "∩": "\\cap ",
    "∖": "\\setminus ", "∅": "\\emptyset ", "∞": "\\infty ", "√": "\\sqrt ", "∛": "\\sqrt[3]", "∜": "\\sqrt[4]",
    "∑": "\\sum ", "∏": "\\prod ", "∫": "\\int ", "°": "^\\circ ", "º": "^\\circ ", "±": "\\pm ",
    "∓": "\\mp ", "→": "\\to ", "⇒": "\\Rightarrow ", "∧": "\\land ", "∨": "\\lor ", "∣": "\\mid ",
    "⊂": "\\subset ", "⊆": "\\subseteq ", "∠": "\\angle ", "△": "\\triangle ", "∆": "\\Delta ", "∂": "\\partial ",
    "⌊": "\\lfloor ", "⌋": "\\rfloor ", "⌈": "\\lceil ", "⌉": "\\rceil ", "⟨": "\\langle ", "⟩": "\\rangle ",
    "〈": "\\langle ", "〉": "\\rangle ", "∥": "\\|", "ℝ": "\\mathbb{R}", "ℤ": "\\mathbb{Z}", "ℚ": "\\mathbb{Q}",
    "ℕ": "\\mathbb{N}", "ℂ": "\\mathbb{C}", "′": "'", "″": "''", "‴": "'''", "’": "'", "‘": "'", "“": '"', "”": '"',
    "…": "\\ldots ", "⋯": "\\cdots ", "。": ".", "、": ",", "，": ",", "．": ".", "｡": ".", "【": "[", "】": "]",
    "「": '"', "」": '"', "ı": "\\imath ", "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2003": " ", "\u3000": " ",
    "℃": "^\\circ C", "℉": "^\\circ F", "∝": "\\propto ", "≅": "\\cong ", "∼": "\\sim ", "µ": "μ",
}  # fmt: skip

_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξπρςστυφχψωΓΔΘΛΞΠΣΦΨΩϵϑϕ",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho varsigma sigma tau "
        "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega epsilon theta phi".split(),
        strict=True,
    )
)

_VULGAR = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5),
    "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅐": (1, 7), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8),
    "⅑": (1, 9), "⅒": (1, 10),
}  # fmt: skip

_INVISIBLE = (
    "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064"
    "\u2066\u2067\u2068\u2069\ufeff\u00ad"
)

_TABLE: dict[int, str | None] = {ord(char): None for char in _INVISIBLE}
_TABLE |= {ord(char): text for char, text in _COMMANDS.items()}
_TABLE |= {ord(char): f"\\{name} " for char, name in _GREEK.items()}
_TABLE |= {ord(char): f"\\frac{{{top}}}{{{bottom}}}" for char, (top, bottom) in _VULGAR.items()}

_SUPER = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣ", "0123456789+-()nix", strict=True))
_SUB = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₐₑₓₙₖₘ", "0123456789+-()aexnkm", strict=True))
_RAISED = re.compile(f"[{''.join(_SUPER)}]+")
_LOWERED = re.compile(f"[{''.join(_SUB)}]+")
_COMPATIBLE = re.compile(r"[^\x00-\x7f\u4e00-\u9fff\u0370-\u03ff\u0400-\u04ff]")


def _plain(match: re.Match[str]) -> str:
    char = match.group()
    digit = unicodedata.decimal(char, None)
    return str(digit) if digit is not None else unicodedata.normalize("NFKC", char)


def _ascii_mathematics(text: str) -> str:
    """Unicode mathematics to the TeX or ASCII that means the same; other letters stay as they are."""
    text = _RAISED.sub(lambda m: "^{" + "".join(_SUPER[c] for c in m.group()) + "}", text)
    text = _LOWERED.sub(lambda m: "_{" + "".join(_SUB[c] for c in m.group()) + "}", text)
    text = _COMPATIBLE.sub(_plain, text.translate(_TABLE))
    return text.translate(_TABLE)


def has_unicode_digits(text: str) -> bool:
    """Does the text write digits that clean-up alone makes ASCII: ３, ², ½, ∛?"""
    return not text.isascii() and any(char.isnumeric() or char in "∛∜" for char in _COMPATIBLE.findall(text))


_PAIRS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"), ("**", "**"), ("`", "`"), ("__", "__"))
_PAIRED = frozenset("$\\*`_")  # what a pair begins with
_SPACES = ("\\,", "\\;", "\\:", "\\!", "\\ ", "\\quad", "\\qquad")
_ENDS_OF_SPACES = frozenset(space[-1] for space in _SPACES)


def _strip_once(text: str) -> str:
    text = text.strip(" \t\r\n~\f\v")
    if text[:1] == "\\" or text[-1:] in _ENDS_OF_SPACES:
        text = without_outer_spaces(text)
    if text[:1] in _PAIRED:
        for opening, closing in _PAIRS:
            if (
                len(text) > len(opening) + len(closing)
                and text.startswith(opening)
                and text.endswith(closing)
            ):
                inner = text[len(opening) : -len(closing)]
                if opening not in inner and closing not in inner:
                    return inner
    return text[:-1] if text.endswith(".") and not text.endswith("..") else text


def without_outer_spaces(text: str) -> str:
    for space in _SPACES:
        if text.startswith(space) and not text[len(space) :][:1].isalpha():
            text = text[len(space) :]
        if text.endswith(space) and not text.endswith("\\" + space):
            text = text[: -len(space)]
    return text


def strip_wrappers(text: str) -> str:
    """Outer math delimiters, Markdown marks, blanks and the final full stop; a bounded number of layers."""
    for _ in range(8):
        before = text
        text = _strip_once(text)
        if text == before:
            break
    return text


_TIMES_TEN = re.compile(r"(\d)\s*x\s*10\s*\^")  # 4.7 x 10^-5


def clean(text: str) -> str:
    """What the lexer reads: ASCII mathematics wherever unicode has a twin, no wrappers, no entities."""
    if "&" in text and ";" in text:
        text = html.unescape(text)
    if "10" in text and "x" in text:
        text = _TIMES_TEN.sub(r"\1\\times 10^", text)
    if "{:}" in text:
        text = text.replace("{:}", ":")
    if not text.isascii():
        text = _ascii_mathematics(text)
    text = _unwrapped_brackets(strip_wrappers(text))
    return without_delimiters(text) if "$" in text else text


def _unwrapped_brackets(text: str) -> str:
    """Thousands of brackets around one value are one pair."""
    if not text.startswith("(((("):
        return text
    inner = text.lstrip("(")
    depth = len(text) - len(inner)
    core = inner.rstrip(")")
    if len(inner) - len(core) == depth and "(" not in core and ")" not in core:
        return f"({core})"
    return text


def without_delimiters(text: str) -> str:
    """An even number of unescaped dollars are math delimiters and go; an odd one is currency and stays."""
    bare = text.count("$") - text.count("\\$")
    if bare == 0 or bare % 2:
        return text
    return text.replace("\\$", "\0").replace("$", " ").replace("\0", "\\$")
