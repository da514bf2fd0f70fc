"""The names that the parser knows: functions, constants, Greek letters, environments."""

# written name -> name of the function in exact.py
FUNCTION_NAMES = {
    name: name
    for name in (
        "sin cos tan cot sec csc sinh cosh tanh coth sech csch arcsin arccos arctan arccot arcsec arccsc arcsinh "
        "arccosh arctanh ln log lg exp sqrt cbrt abs max min gcd lcm floor ceil binom det cis sgn re im arg Gamma"
    ).split()
} | {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "arsinh": "arcsinh", "arcosh": "arccosh",
    "artanh": "arctanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "cosec": "csc",
    "sign": "sgn", "Arg": "arg", "Re": "re", "Im": "im", "acot": "arccot", "factorial": "factorial", "gamma": "Gamma",
    "choose": "binom", "ceiling": "ceil", "cotan": "cot", "hcf": "gcd", "GCD": "gcd", "LCM": "lcm", "Log": "ln",
}  # fmt: skip
del FUNCTION_NAMES["gamma"]  # a Greek letter
INVERSES = {name: f"arc{name}" for name in "sin cos tan cot sec csc sinh cosh tanh".split()}
SEVERAL_ARGUMENTS = frozenset({"max", "min", "gcd", "lcm", "log"})
NAMED_CONSTANTS = {
    "pi": "pi",
    "infty": "inf",
    "inf": "inf",
    "infinity": "inf",
    "oo": "inf",
    "Infinity": "inf",
}
GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega varsigma ell hbar partial nabla aleph "
    "varrho wp triangle angle measuredangle square".split()
)
SPELLED_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta kappa lambda rho sigma tau phi chi psi omega".split()
)
BIG_OPERATORS = {
    "sum": "sum", "prod": "prod", "int": "int", "iint": "int", "oint": "int", "lim": "lim",
    "limsup": "lim", "liminf": "lim", "iiint": "int", "sup": "sup", "inf": "inf_op",
}  # fmt: skip
CALLED = frozenset("fghFGHT")
BLACKBOARD = {"R": "R", "Z": "Z", "N": "N", "Q": "Q", "C": "C"}
MATRICES = frozenset(
    {"pmatrix", "bmatrix", "matrix", "array", "smallmatrix", "Bmatrix", "psmallmatrix", "bsmallmatrix"}
)
ALIGNED = frozenset({"aligned", "align", "gathered", "gather", "split", "eqnarray", "alignedat"})

ACCENTS = ("hat", "widehat", "tilde", "dot", "ddot")
ATOM_COMMANDS = frozenset(
    {"frac", "sqrt", "binom", "overline", "lfloor", "lceil", "langle", "mathbb", "emptyset", "cbrt", "root"}
    | set(FUNCTION_NAMES)
    | {"pi", "infty", "dots", "bmod_"}
    | GREEK
    | set(BIG_OPERATORS)
    | set(ACCENTS)
)
