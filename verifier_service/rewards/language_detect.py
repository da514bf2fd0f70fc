"""Which language a few words of one script are in. The only module that knows py3langid.

The model lies inside the package: nothing is downloaded, nothing is random. It loads in about half a second
(`preload`), which is to happen before a clock starts.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from verifier_service.rewards.language_names import LANGUAGES, candidates

# Scripts of several languages; in every other script the letters decide.
AMBIGUOUS = ("latn", "cyrl", "arab", "deva")

# The wanted language is believed unless another is this many times likelier: few words say little.
_BENEFIT = 4.0
_BENEFIT_OF_FEW = 6.0

_ENOUGH_CHARS = 1000

# Believed in the same way where the wanted language has another script: a name for the report, no more.
_USUAL = {"latn": "en", "cyrl": "ru", "arab": "ar", "deva": "hi"}


class _Identifier(Protocol):
    def rank(self, text: str) -> list[tuple[str, float]]: ...


def preload() -> None:
    """Load the model now. Workers call it on import, so that no item pays for it."""
    _identifier()


def detect(text: str, script: str, target: str, *, few: bool = False) -> str:
    """Code of the likeliest language of `text` among those written in `script`.

    few: the words are too few to judge by, so the target needs less to be believed.
    """
    if script not in AMBIGUOUS:
        return candidates(script)[0]
    likelihood = _likelihoods(text[:_ENOUGH_CHARS], script)
    best = max(likelihood, key=lambda code: likelihood[code])
    benefit = _BENEFIT_OF_FEW if few else _BENEFIT
    favoured = target if target in likelihood else _USUAL[script]
    return favoured if likelihood[favoured] * benefit >= likelihood[best] else best


def _likelihoods(text: str, script: str) -> Mapping[str, float]:
    allowed = set(candidates(script))
    return {code: value for code, value in _identifier().rank(text) if code in allowed}


@lru_cache(maxsize=1)
def _identifier() -> _Identifier:
    # Imported here: the server process and the client validate names without loading the model.
    from py3langid import langid
    from py3langid.modelio import load_model

    weights, priors, labels, *automaton = load_model(Path(langid.MODEL_DIR) / langid.MODEL_FILE)
    scripts = {code: language.scripts for code, language in LANGUAGES.items()}
    wanted = [at for at, label in enumerate(labels) if not set(AMBIGUOUS).isdisjoint(scripts.get(label, ()))]
    moves, row, output = automaton
    labels = [labels[at] for at in wanted]
    identifier: _Identifier = langid.LanguageIdentifier(
        weights[:, wanted], priors[wanted], labels, moves, output, norm_probs=True, tk_row=row
    )
    return identifier
