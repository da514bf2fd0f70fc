"""Signs and words that join or close expressions."""

RELATIONS = {
    "=": "=", "==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "!=": "!=", "<>": "!=", "le": "<=",
    "ge": ">=", "ne": "!=", "approx": "~", "sim": "~", "equiv": "==", "in": "in", "notin": "notin", "cong": "~",
    "subset": "subset", "subseteq": "subset", "to": "->", "->": "->", "propto": "propto", "ni": "ni",
}  # fmt: skip
SET_OPS = {"cup": "union", "cap": "intersection", "setminus": "difference"}
AND_WORDS = frozenset({"and", "und", "et", "y", "e", "и", "和", "与", "及", "&", "land"})
OR_WORDS = frozenset({"or", "oder", "ou", "o", "или", "或", "或者", "lor", "または", "또는"})
CONDITIONS = frozenset({"if", "when", "for", "whenever"})
OTHERWISE = frozenset({"otherwise", "else"})
QUALIFIERS = frozenset({"for", "where", "with", "when"})
QUALIFYING_MARKS = frozenset({",", "{", "}", "(", ")", "="})
CURRENCY = frozenset("$£€¥₹")
PERCENT_WORDS = frozenset({"percent", "per cent", "percentage", "pct", "por ciento", "prozent", "pour cent"})
UNIT_FUNCTIONS = frozenset({"min", "sec"})
CONDITION_WORDS = frozenset({"if", "when", "for", "where", "otherwise", "else", "whenever", "unless"})
STOP_NOUNS = frozenset(
    "is not are was no nor if then but isn isnt aren't isn't wrong incorrect false true maybe perhaps either "
    "neither than less more least most about approximately roughly around between from without "
    "because since so unless except only".split()
)
JOINING = AND_WORDS | OR_WORDS | CONDITION_WORDS | {"to", "per"}
