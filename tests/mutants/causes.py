"""What a headline has to name of a wrong variant, by what the variant's sentence says that it does.

A row is a kind of mistake: words by which sentences tell it, and the words of which a right headline has one. The first two rows
that speak of a sentence count, so the more particular ones stand first. A variant of which no row speaks, or which is told by
the words of another kind, says ``cause="…"`` itself.
"""

import re

KINDS = (
    (
        r"gradient|detach|frozen|learns?\b|taken? for a constant|as (a )?constants?|"
        r"backward pass",
        r"gradient|constant|batch",
    ),
    (
        r"in place|overwritten|caller's (tensor|table|ids|queries)|cut themselves",
        r"writes|caller's",
    ),
    (
        r"dropout|evaluation",
        r"dropout|random",
    ),
    (
        r"generator|reseed|[Ss]eeds",
        r"generator|seed|independent|drawn|draws",
    ),
    (
        r"cached|second call|by shape|once for each|worked out once|projected once|"
        r"memory projected|by its tensor",
        r"kept|call|batch|other values",
    ),
    (
        r"first of the batch|first sequence|batch|members?\b",
        r"batch|member|axis|independent|axes|from the|sees|cache|drawn",
    ),
    (
        r"float16|bfloat|float32|in (half|single)|digits|cancels|\d+ bits|lose its|five digits"
        r"|precision",
        r"float|digits|lost|overflow|one-pass|difference of numbers|wrong in|fixed|term|"
        r"entries|range|positions",
    ),
    (
        r"overflow|as they are|as it stands|underflow|∞|without subtracting|unshifted",
        r"overflow|vanishes|NaN|finite",
    ),
    (
        r"NaN|0/0|nan|count of 0",
        r"NaN|fully|none_asked|finite|sees nothing|fails only|no entry|0",
    ),
    (
        r"[Dd]raw|select|coin|randint|random|labels? (of|hold|only|are)|\[MASK\]|never (itself"
        r"|the original|drawn)|likeliest token|nucleus|k [+−] 1|k-th|exact count|corpus",
        r"share|drawn|drew|selected|draw|distance|position|violated|expected|outcome|labels|"
        r"together|never|probability|token|independent|index|possible",
    ),
    (
        r"##|\[UNK\]|\[SEP\]|\[CLS\]|pieces?\b|texts?\b|beams?\b|prompt|a word (of|is)|"
        r"characters|tokens are (taken|of)|row's last|one more token|Prunes|Stops once|"
        r"second-best|lower case|said its end",
        r"violated|expected|got|returned|raised|it |segment",
    ),
    (
        r"[Ff]ills?\b|filled|lowered|finfo|−1e4|Subtracts 100|−10",
        r"hidden scores|finite|filled|lowered|added|mean|weights|hidden entries",
    ),
    (
        r"after the softmax|mask after|sum to (1|less)|Masks after|renormalis|denominator|"
        r"keeps its share",
        r"weights do not sum|divide|hidden entries|sum|exp|added|term",
    ),
    (
        r"transpos|view\b|reshape|interleav|component by component|rows and columns|"
        r"head by head|keys in the rows|alternate|take turns|\bwrong layout",
        r"axes|transpos|reshap|permut|exchanged|order|read",
    ),
    (
        r"over the|[Nn]ormalises over|wrong axis|over axis|over (queries|places|positions|"
        r"time)|along the sequence",
        r"axis|sums over|axes|look-ahead|depends|mean|taken over",
    ),
    (
        r"triu|tril|one ahead|strictly|[Cc]ounts? .* from (0|1)|from one\b|from zero|"
        r"off by one|by one\b|shift|successor|neighbour's|one late|next word|word after|"
        r"step (after|late)|diagonal|own position|last (key|word|component) (is )?left out|"
        r"without the last|place after",
        r"off by one|moved|counts|next|itself|too (many|few)|leaves out|has \w+ [−+] \d|"
        r"look-ahead|condition|≤|read",
    ),
    (
        r"window|Gaussian|σ|D/2|\bcut\b|position (linearly|lies|to)|predicts",
        r"\bD\b|window|not multiplied|multiplied|divided|square|exp|position|condition|tanh|"
        r"\bp\b|sum|scale|round|off by one|2|alpha",
    ),
    (
        r"eps|ε|1e-\d|10⁻",
        r"eps|ε|added|fixed|kept from 0|least|root|term",
    ),
    (
        r"bias|forget_bias|β",
        r"\bb_?\w*\b (is|has|and|are|in)|bias|beta|β|\bb\w*\b.*(ignored|not added|subtracted|"
        r"behind|multiplied|exchanged)|ReLU|place of",
    ),
    (
        r"gain|γ",
        r"gamma|γ|exchanged|place of",
    ),
    (
        r"tanh|tangent|sigmoid|logistic|rectif|max\(0|ReLU|GELU|squash|activation|bent|erf|"
        r"[Cc]lip|[Cc]lamp|capped|Nothing between|leaky|hundredth|a·σ|hard_|never_(cold|hot)",
        r"tanh|sigmoid|erf|ReLU|GELU|SiLU|activation|negative entries|square|linear|only where"
        r"|fails|not (multiplied|divided|added)|no ",
    ),
    (
        r"logarithm|log-|\blog\b|bits|likelihood|entropy|divergence",
        r"\blog|exp\b|ln|term|divergence|multiplied|mean|sum|times|scale|vanishes",
    ),
    (
        r"temperature|τ",
        r"tau|\bT\b|scale|times|temperature|drawn|share",
    ),
    (
        r"negative\b|sign|minimised|opposite|subtracts|difference|−|taken away",
        r"sign|subtract|times|times what|added|mean|absolute|\w+ − \d|leaves out",
    ),
    (
        r"[Mm]ask|padding|hid(e|den)|future|[Cc]ausal|attends?\b|True|nothing ignored|ignored",
        r"mask|hidden|hides|look-ahead|later|condition|polarity|depends|itself|sees|seen|"
        r"ignored|not read|count",
    ),
    (
        r"frequenc|exponent|base\b|wraps|rows?, a leftover|[Cc]osines?\b|[Ss]ines\b",
        r"exponent|frequen|base|sin|cos|//|quotient|order|layout|odd|power|length",
    ),
    (
        r"length|1-norm|correlation|means? first|centred|distance",
        r"length|norm|root|square|absolute|mean|subtract|sign|divided|times",
    ),
    (
        r"\bmean|averag|summed|\bsums?\b|divides by all|halved|half\b",
        r"mean|sum|times|scale|halved|count|divided|\bT\b|\bn\b|whatever|subtract|added|axis|"
        r"doubled",
    ),
    (
        r"exchang|[Ss]wap|[Oo]rder|Exchang|second .* first|weights of the other|"
        r"[Tt]akes the .* for|one vector|one segment|instead of|in the place|other one's|Keras"
        r"|ONNX|TensorFlow|Keys? for|belongs|takes .* for|teacher|reads (the|what)|shared|"
        r"first (one|layer|head)'?s?|one_\w+|same|all layers share|both (directions|places)",
        r"exchang|order|reads|read|belongs|ignored|packed|taken|parameters|first|source|"
        r"conform|depends|beside",
    ),
    (
        r"revers|backward|from its end|from the (top|right|bottom|end)|upside|last (one|to|"
        r"layer)",
        r"from (the|its) end|order|exchanged|moved|leaves out|read",
    ),
    (
        r"residual|beside|forgotten|alone\b|added again|row itself|adds to|sum around|"
        r"added to every|layer gives",
        r"residual|added|ignored|times|subtracted|doubled|reads",
    ),
    (
        r"scale|√|root|divid|width|times|multipl|d_k|d_model|\bpower\b|twice|doubl|rate|squar",
        r"scale|√|sqrt|root|divided|multiplied|times|d_\w+|square|power|doubled|halved|"
        r"place of|length|norm",
    ),
    (
        r"softmax|[Nn]ormal|probabilit|logits|weighs",
        r"softmax|exp|log|divided|sum|subtract|norm|mean|residual|root|length|term|multiplied|"
        r"result|tanh|whatever the weights",
    ),
    (
        r"[Ii]gnor|[Ff]orget|[Ll]eaves|left out|without|never|\b[Nn]o\b|not used|missing|"
        r"does not|reads? one|[Dd]rop|None",
        r"ignored|not |\bno |missing|without|leaves out",
    ),
    (
        r"itself|as alike|once, from|not read|unread|first query|before self|side by side|"
        r"close by|taken after|as given|two of",
        r"square|absolute|reads|read|ignored|depends|not multiplied|scale|times|drawn|share|"
        r"labels|first|leaves out|order|term",
    ),
    (
        r"[Cc]ounts?|kernel|product|by all places|1/step",
        r"has|times|multiplied|divided|added|scale|square|root|step|count",
    ),
    (
        r"state|layer|hidden|from 0|zero|starts?\b",
        r"order|reads|ignored|moved|residual|added|exchanged|read|depends|0|leaves out|"
        r"returned",
    ),
    (
        r"[Pp]ast|long|large|wide|many|whole blocks|square|tile|odd|equal|one query|fresh|"
        r"usual|\b\d\d+\b",
        r"only where|fails|wrong in|multiple|large|odd",
    ),
)
"""Kinds of mistakes: how variants tell them, and what headlines may say of them."""


def expected(name, says):
    """What a headline may say of a variant, as a pattern; empty where no kind of mistake is known by its words."""
    told = f"{name.replace('_', ' ')}: {says}"
    return "|".join([words for kind, words in KINDS if re.search(kind, told)][:2])
