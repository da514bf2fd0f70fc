"""Vocabulary of the answers that are words: what means yes, what means "no solution", in common languages.

Tables only; the functions that read them are in words.py. Every phrase is folded on loading (case,
accents, articles, hyphens), so the tables may be written as people write them.
"""

YES = "yes"
NO = "no"
TRUE = "true"
FALSE = "false"
NO_SOLUTION = "no_solution"
NONE = "none"
DOES_NOT_EXIST = "does_not_exist"
UNDEFINED = "undefined"
IMPOSSIBLE = "impossible"
UNDETERMINED = "undetermined"
INFINITY = "infinity"
MINUS_INFINITY = "minus_infinity"
INFINITE = "infinite"
INFINITELY_MANY = "infinitely_many"
ALL_REALS = "all_reals"
IDENTITY = "identity"
EMPTY_SET = "empty_set"
NONE_OF_THESE = "none_of_these"
ALL_OF_THESE = "all_of_these"
CONVERGES = "converges"
DIVERGES = "diverges"
EVEN = "even"
ODD = "odd"

# Pairs that mean the same to a reader though their families differ. Not transitive on purpose:
# "undefined" is a way to say that a value does not exist, never a way to say that an equation has no root.
AKIN: frozenset[frozenset[str]] = frozenset(
    frozenset(pair)
    for pair in (
        (YES, TRUE),
        (NO, FALSE),
        (NO_SOLUTION, NONE),
        (NO_SOLUTION, DOES_NOT_EXIST),
        (NO_SOLUTION, IMPOSSIBLE),
        (NO_SOLUTION, EMPTY_SET),
        (NONE, DOES_NOT_EXIST),
        (NONE, EMPTY_SET),
        (DOES_NOT_EXIST, UNDEFINED),
        (DOES_NOT_EXIST, IMPOSSIBLE),
        (INFINITY, INFINITE),
        (INFINITY, INFINITELY_MANY),
        (INFINITE, INFINITELY_MANY),
        (ALL_REALS, IDENTITY),
    )
)

# family -> phrases, separated by "|"
PHRASES: dict[str, str] = {
    YES: "yes|yeah|yep|it is|yes it is|yes it does|yes they are|yes they do|yes it can|sí|sí lo es|oui|ja|да|"
    "sim|sì|はい|是|是的|可以|能|예|네|نعم|हाँ|evet|tak",
    NO: (
        "no|nope|it is not|it isn't|no it is not|no it isn't|no it does not|no it doesn't|"
        "no they are not|no they aren't|no it cannot|no it can't|non|nein|нет|não|いいえ|否|不是|不|"
        "不可以|不能|아니오|아니요|لا|नहीं|hayır|nie"
    ),
    TRUE: (
        "true|correct|it is true|statement is true|this is true|that is true|this statement is true|"
        "verdadero|cierto|verdadeiro|vrai|wahr|richtig|верно|истина|правда|真|正确|对|正しい|vero|참|"
        "doğru|prawda"
    ),
    FALSE: (
        "false|incorrect|it is false|statement is false|this is false|that is false|"
        "this statement is false|not true|wrong|falso|faux|falsch|неверно|ложь|假|错误|错|不正确|不对|"
        "誤り|거짓|yanlış|fałsz"
    ),
    NO_SOLUTION: (
        "no solution|no solutions|inconsistent|inconsistent system|system is inconsistent|contradiction|"
        "unsolvable|not solvable|insoluble|has no solution|无解|方程无解|无实数解|无实数根|没有解|"
        "没有实数解|没有实数根|无实根|无实解|没有实根|不等式无解|方程组无解|解なし|実数解なし|해가 없다|"
        "해 없음|aucune solution|aucune solution réelle|pas de solution|pas de solution réelle|"
        "pas de solutions|sans solution|il n'y a pas de solution|il n'y a aucune solution|"
        "n'admet pas de solution|keine lösung|keine lösungen|keine reelle lösung|keine reellen lösungen|"
        "unlösbar|nicht lösbar|es gibt keine lösung|es gibt keine lösungen|sin solución|sin soluciones|"
        "no hay solución|no hay soluciones|no tiene solución|no tiene soluciones|no existe solución|"
        "no existen soluciones|ninguna solución|no hay solución real|no hay soluciones reales|"
        "sin solución real|нет решений|нет решения|решений нет|не имеет решений|"
        "нет действительных решений|нет корней|корней нет|нет действительных корней|"
        "нет вещественных корней|действительных корней нет|não há solução|não há soluções|"
        "não tem solução|sem solução|nessuna soluzione|non ha soluzioni|non ci sono soluzioni|çözüm yok|"
        "çözümü yok|brak rozwiązań|nie ma rozwiązań"
    ),
    NONE: (
        "none|none exist|none exists|there are none|there is none|there isn't any|there aren't any|"
        "none at all|nothing|没有|无|不存在这样的数|aucun|aucune|keine|keiner|keines|ninguno|ninguna|"
        "ningún|nessuno|nessuna|nenhum|nenhuma"
    ),
    DOES_NOT_EXIST: (
        "dne|d.n.e|d.n.e.|does not exist|doesn't exist|do not exist|don't exist|nonexistent|non existent|"
        "not existing|not exist|no limit|no limit exists|cannot exist|can't exist|不存在|极限不存在|"
        "該極限不存在|存在しない|존재하지 않는다|n'existe pas|existiert nicht|es existiert nicht|"
        "existieren nicht|no existe|no existen|не существует|не существуют|não existe|não existem|"
        "non esiste|non esistono|la limite n'existe pas|el límite no existe|"
        "der grenzwert existiert nicht|предел не существует|предела не существует"
    ),
    UNDEFINED: (
        "undefined|not defined|is not defined|is undefined|ill defined|未定义|无定义|没有定义|无意义|"
        "没有意义|定義されない|non défini|non définie|indéfini|pas défini|nicht definiert|undefiniert|"
        "indefinido|no definido|no está definido|indefinida|не определено|не определена|не определён|"
        "неопределено|não definido|non definito|indefinito"
    ),
    IMPOSSIBLE: (
        "impossible|not possible|it is impossible|it is not possible|this is impossible|"
        "this is not possible|cannot be done|can't be done|不可能|imposible|no es posible|pas possible|"
        "c'est impossible|unmöglich|nicht möglich|невозможно|impossível|impossibile|不可能である|불가능"
    ),
    UNDETERMINED: (
        "cannot be determined|can't be determined|can not be determined|it cannot be determined|"
        "cannot determine|impossible to determine|not enough information|insufficient information|"
        "not enough information given|there is not enough information|there isn't enough information|"
        "not enough data|insufficient data|indeterminate|undetermined|cannot tell|can't tell|"
        "cannot be known|无法确定|不能确定|不确定|无法判断|条件不足|no se puede determinar|"
        "información insuficiente|on ne peut pas déterminer|indéterminé|nicht bestimmbar|"
        "kann nicht bestimmt werden|unbestimmt|нельзя определить|невозможно определить|"
        "недостаточно данных"
    ),
    INFINITY: (
        "infinity|positive infinity|plus infinity|+infinity|+ infinity|+inf|inf|+∞|∞|goes to infinity|"
        "tends to infinity|approaches infinity|无穷大|正无穷|正无穷大|无穷|無限大|무한대|infini|"
        "plus l'infini|l'infini|infinito|más infinito|unendlich|plus unendlich|бесконечность|"
        "плюс бесконечность|mais infinito|più infinito|sonsuz"
    ),
    MINUS_INFINITY: (
        "negative infinity|minus infinity|-infinity|- infinity|-inf|-∞|负无穷|负无穷大|moins l'infini|"
        "menos infinito|minus unendlich|минус бесконечность|meno infinito"
    ),
    INFINITE: "infinite|infinie|infinita|бесконечно",
    INFINITELY_MANY: (
        "infinitely many|infinite many|infinite number|infinitely|infinite solutions|uncountably many|"
        "infinite amount|无数|无数个|无穷多|无穷多个|无限多|无限多个|无穷多解|无数解|无穷多个解|无数个解|"
        "有无穷多解|有无数个解|無数|無限個|une infinité de solutions|infinité de solutions|infinitos|"
        "infinitas|infinitas soluciones|infinitas soluções|un número infinito|unendlich viele|"
        "unendlich viele lösungen|бесконечно много|бесконечно много решений|бесконечное множество|"
        "бесконечное множество решений|infinite soluzioni"
    ),
    ALL_REALS: (
        "all reals|all real|reals|real numbers|all real numbers|every real number|any real number|"
        "all real number|any real|every real|set of real numbers|set of all real numbers|set of reals|"
        "set of all reals|all real values|all real solutions|all reals numbers|entire real line|"
        "whole real line|real line|all real x|every real x|any real x|all real values of x|all numbers|"
        "any number|every number|all values of x|any value of x|all x|every x|any x|all x in reals|"
        "x is any real number|x can be any real number|x is all real numbers|x is real|全体实数|任意实数|"
        "一切实数|所有实数|实数集|实数|全体实数集|全実数|すべての実数|모든 실수|tous les réels|tout réel|"
        "tous les nombres réels|tout nombre réel|ensemble des réels|l'ensemble des réels|"
        "todos los reales|todos los números reales|cualquier número real|todo número real|"
        "alle reellen zahlen|jede reelle zahl|все действительные числа|любое действительное число|"
        "все вещественные числа|любое число|todos os números reais|todos os reais|tutti i numeri reali|"
        "tutti i reali"
    ),
    IDENTITY: (
        "identity|always true|it is an identity|this is an identity|true for all x|true for every x|"
        "true for all real x|true for all real numbers|true for all values of x|equation is an identity|"
        "identically true|恒成立|恒等式|identidad|identité|identität|тождество|identità"
    ),
    EMPTY_SET: (
        "empty set|empty|null set|void set|空集|空集合|空集である|ensemble vide|l'ensemble vide|"
        "conjunto vacío|leere menge|пустое множество|conjunto vazio|insieme vuoto"
    ),
    NONE_OF_THESE: (
        "none of these|none of above|none of them|none of those|none of options|none of choices|"
        "none of other|以上都不是|以上都不对|都不是|都不对|ninguna de las anteriores|"
        "aucune de ces réponses|keine der genannten|ни один из них"
    ),
    ALL_OF_THESE: (
        "all of these|all of above|all of them|all of those|all of options|all of choices|以上都是|"
        "以上都对|都是|都对|todas las anteriores|toutes ces réponses|alle genannten"
    ),
    CONVERGES: (
        "converges|convergent|converge|is convergent|it converges|series converges|series is convergent|"
        "integral converges|sequence converges|收敛|级数收敛|converge|konvergent|konvergiert|сходится|"
        "收束する|convergente"
    ),
    DIVERGES: (
        "diverges|divergent|diverge|is divergent|it diverges|series diverges|series is divergent|"
        "integral diverges|sequence diverges|does not converge|doesn't converge|not convergent|发散|"
        "级数发散|diverge|divergente|divergent|divergiert|расходится|発散する"
    ),
    EVEN: "even|even number|even function|is even|it is even|偶数|偶函数|gerade|чётное|четное|偶数である",
    ODD: "odd|odd number|odd function|is odd|it is odd|奇数|奇函数|ungerade|нечётное|нечетное|奇数である",
}

# Golds that name no answer, by their words once markup is stripped.
PLACEHOLDERS = (
    "nan|not a number|null|tbd|tba|todo|to be determined|to be added|to be announced|not available|"
    "not applicable|not provided|not given|not known|not stated|none provided|none given|no answer|"
    "no answer provided|no answer given|no answer available|no solution provided|no solution given|"
    "no solution available|no reference answer|answer not provided|answer not available|"
    "answer not given|answer omitted|unknown answer|answer unknown|unanswered|missing|missing answer|"
    "blank|placeholder|unknown|answer|answers|the answer|your answer|final answer|solution|"
    "the solution|your solution|insert answer here|answer here|answer goes here|your answer here|"
    "enter answer|question|proof|proofs|a proof|the proof|proof omitted|proof required|proof needed|"
    "proof question|proof problem|this is a proof|proof by induction|prove|proved|proven|prove it|qed|"
    "q e d|shown|as shown|as required|as desired|show that|to be proved|to be shown|we are done|done|"
    "verify|verified|omitted|omit|skip|skipped|left to reader|left to the reader|left as exercise|"
    "left as an exercise|exercise|answers may vary|answers will vary|answer may vary|answer will vary|"
    "answers vary|answer varies|various answers|varied answers|may vary|will vary|"
    "multiple answers possible|many answers possible|various|sample answer|sample answers|"
    "possible answer|student answers will vary|responses may vary|responses will vary|open ended|"
    "discussion|explain|explanation|figure|the figure|figure below|figure above|in figure|"
    "shown in figure|as shown in figure|graph|the graph|diagram|the diagram|image|the image|picture|"
    "the picture|drawing|sketch|plot|chart|table|image omitted|graph omitted|figure omitted|"
    "diagram omitted|in the back of the book|voir figure|preuve|démonstration|siehe abbildung|beweis|"
    "ver figura|demostración|prueba|respuestas pueden variar|доказательство|рисунок|график|ответ|"
    "нет ответа|respuesta|réponse|antwort|略|答案略|解答略|证明略|证明|略解|见解析|见答案|见图|如图|"
    "如图所示|证明见解析|见解答|解析|解析略|答案见解析|答案|暂无|暂无答案|无答案|省略|証明|証明略|図|"
    "未知"
)

# "see ..." in any continuation names another place, not an answer.
SEE_WORDS = frozenset(("see", "refer", "cf", "voir", "siehe", "ver", "vea", "см", "смотри"))
SEE_PREFIXES_CJK = ("见", "如图", "详见", "参见", "見")

# Words before "no solution" that only say where one has looked, or what has none.
SOLUTION_NOUNS = (
    "solution|solutions|root|roots|value|values|number|numbers|integer|integers|pair|pairs|triple|"
    "triples|intersection|intersections|point of intersection|points of intersection|zeros|zeroes|real|"
    "reals|x|y|z|n|m|k|t"
)
SOLUTION_ADJECTIVES = (
    "real|integer|integral|rational|positive|negative|natural|complex|valid|possible|finite|such|other|"
    "nonzero|non zero|nontrivial|whole|prime|real valued|feasible"
)
MISSING_NOUNS = (
    "it|x|y|f|limit|value|inverse|derivative|integral|number|inverse function|inverse matrix|two sided limit|"
    "maximum|minimum|triangle|function|slope|answer|expression"
)
COUNTED_NOUNS = (
    "solutions?|values?|numbers?|roots|points|pairs|integers|triples|primes|answers|possibilities|ways|zeros"
)

FOREIGN_ARTICLES = "le la les el los las un una une der das ein eine o os as il lo gli"
# After these an "a" is a name: "A and B", "A is larger".
NO_NOUNS = "and or is are to of only but plus minus vs than then has was wins alone both not in"
# Short parts of hyphened words: "co-prime", "one-to-one".
HYPHENABLE = "one two six ten non to and of all odd pre anti semi bi co in on up re end"
