"""Words that join, part or withdraw answers, in the languages that models answer in."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Between two boxes these join them.
AND = _words(
    """and as well & und sowie et y e og och en ve và dan oraz și и та да і και و ו और
    和 与 與 及 以及 同时 と および 그리고 와 과"""
)

# Between two boxes these make alternatives of them.
OR = _words(
    """or either maybe perhaps possibly alternatively vs versus
    oder entweder vielleicht ou soit o u quizá quizás forse eller veya hoặc atau lub albo sau
    или либо або возможно ή أو او או या
    或 或者 或是 或者是 要么 也许 可能 可能是 または もしくは あるいは 또는 혹은
    \\lor \\vee"""
)

# Around a word of alternatives these say nothing of their own.
FILLER = _words(
    """else even just also it its it's is be could might may can would likely probably the final answer value
    es ist sein könnte est être può puede ser может быть 是 也 还 答案 为"""
)

# What stands before these is taken back.
WITHDRAWAL = _words(
    """wait no not nope actually sorry instead hmm hm oops correct corrected correction correcting but rather
    however wrong mistake mistaken error recheck check checking recount recompute recalculate revise revised
    scratch redo fix should misread forgot
    nein doch warte falsch korrektur aber sondern eigentlich stattdessen
    non attends pardon mais plutôt erreur espera perdón corrección pero sino não mas aliás aspetta invece
    нет стоп подождите ошибка исправление но точнее
    不 不对 不是 等等 等一下 更正 抱歉 错 错了 应该 应该是 应为 实际上 但 但是
    いや 違う 間違い 訂正 아니 아니다 잠깐"""
)

# What stands after these follows from what stands before: steps, not parts of one answer.
CONCLUSION = _words(
    """so thus hence therefore then giving gives yields which because since final finally answer result
    conclusion means becomes response
    also folglich daher ergibt antwort donc alors réponse luego entonces respuesta значит поэтому ответ
    所以 因此 故 即 得 最终 最后 答案"""
)

# Every entry that a script without spaces may hide inside a longer run of letters.
UNSPACED = sorted(
    (word for word in AND | OR | FILLER | WITHDRAWAL | CONCLUSION if word[0] >= "\u3040"),
    key=len,
    reverse=True,
)
