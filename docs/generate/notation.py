"""From the letters of the lecture decks and of the papers to ours. Typed here are their letters alone; what ours mean, and what
sizes they have, the statements say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from spec.bibliography import BIBLIOGRAPHY, DECKS
from spec.language.registry import find

from .lines import symbols
from .markup import inline, table

LETTERS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "S0": {
        "attention.self": {"X": "x", "Q": "q", "K": "k", "V": "v", "Z": "z"},
        "attention.multi_head": {"W^o": "W_o"},
        "attention.luong_step": {"h_4": "s_next", "C_4": "c"},
        "positional.sinusoidal": {r"\vec{p}_t": "PE", "10000": "b"},
    },
    "S1": {
        "recurrent.rnn_cell": {"x_i": "x", "h_{i-1}": "h", "h_i": "h'", "o_i": "o"},
        "recurrent.lstm_cell": {
            "x^{(t)}": "x",
            "h^{(t-1)}": "h",
            "s^{(t-1)}": "s",
            "W^{gx}": "W_gx",
            "W^{gh}": "W_gh",
            "g^{(t)}": "g",
            "i^{(t)}": "i",
            "f^{(t)}": "f",
            "o^{(t)}": "o",
            "s^{(t)}": "s'",
            "h^{(t)}": "h'",
        },
        "recurrent.elmo_mix": {
            r"\mathbf{h}^{\mathrm{LM}}_{kj}": "h",
            r"s^{\mathrm{task}}_j": "a",
            r"\gamma^{\mathrm{task}}": "gamma",
            r"\mathrm{ELMo}^{\mathrm{task}}_k": "m",
        },
        "attention.scaled_dot_product": {"Q": "q", "K_i": "k", "V_i": "v"},
        "attention.multi_head": {
            "W^Q_i": "W_q",
            "W^K_i": "W_k",
            "W^V_i": "W_v",
            "W^O": "W_o",
            r"\mathrm{head}_i": "head",
        },
        "positional.sinusoidal": {r"PE_{(pos,\, 2i)}": "PE", r"d_{\mathrm{model}}": "d", "10000": "b"},
    },
    "S2": {
        "scores.additive": {
            r"\mathbf{s}": "q",
            r"\mathbf{h}": "k",
            r"\mathbf{v}": "v",
            r"\mathbf{W}": "W",
            "a": "s",
        },
        "scores.scaled_dot": {r"\mathbf{s}": "q", r"\mathbf{h}": "k", "n": "d_k", "a": "s"},
        "scores.location": {r"\mathbf{s}": "q", r"\mathbf{W}": "W"},
        "attention.self": {
            r"\mathbf{X}": "x",
            r"\mathbf{W^Q}": "W_q",
            r"\mathbf{W^K}": "W_k",
            r"\mathbf{W^V}": "W_v",
            r"\mathbf{Q}": "q",
            r"\mathbf{K}": "k",
            r"\mathbf{V}": "v",
            r"\mathbf{Z}": "z",
        },
        "attention.multi_head": {"W^o": "W_o"},
        "objectives.autoregressive": {"y_t": "y"},
    },
    "S3": {
        "attention.bahdanau_step": {
            "s_{i-1}": "s",
            "y_{i-1}": "y",
            "h_j": "h",
            "T_x": "m",
            "e_{ij}": "eta",
            r"\alpha_{ij}": "alpha",
            "c_i": "c",
            "s_i": "s_next",
        },
        "attention.self": {
            r"\mathbf{X}": "x",
            r"\mathbf{W}^Q": "W_q",
            r"\mathbf{W}^K": "W_k",
            r"\mathbf{W}^V": "W_v",
            r"\mathbf{Q}": "q",
            r"\mathbf{K}": "k",
            r"\mathbf{V}": "v",
            r"\mathbf{Z}": "z",
        },
        "attention.multi_head": {"W^o": "W_o"},
        "positional.sinusoidal": {r"\vec{p}_t": "PE", "10000": "b"},
    },
    "S4": {
        "scores.additive": {
            r"\mathbf{q}": "q",
            r"\mathbf{k}": "k",
            r"\mathbf{W_a}": "W",
            r"\mathbf{v_a}": "v",
            "h": "a",
            r"s(\mathbf{q}, \mathbf{k})": "s",
        },
        "attention.self": {
            "N": "n",
            "k": "d_k",
            "v": "d_v",
            "d": "d_model",
            r"\mathbf{X}": "x",
            r"\mathbf{W^Q}": "W_q",
            r"\mathbf{W^K}": "W_k",
            r"\mathbf{W^V}": "W_v",
            r"\mathbf{Q}": "q",
            r"\mathbf{K}": "k",
            r"\mathbf{V}": "v",
            r"\mathbf{Z}": "z",
        },
        "attention.multi_head": {
            "H": "h",
            r"\mathbf{Z}_1, \ldots, \mathbf{Z}_H": "head",
            r"\mathbf{W^o}": "W_o",
        },
        "positional.sinusoidal": {"n": "b", r"PE(pos,\, 2i)": "PE"},
        "positional.learned": {r"\mathbf{W}_{PE}": "W_PE"},
        "embedding.token": {r"\mathbf{W}_{emb}": "E", "|V|": "V"},
        "transformer.encoder": {"N_L": "L"},
        "bert.head_mlm": {r"\mathbf{W_{lm}}": "E"},
    },
    "vaswani2017": {
        "attention.scaled_dot_product": {"Q": "q", "K": "k", "V": "v"},
        "attention.multi_head": {
            "W^Q_i": "W_q",
            "W^K_i": "W_k",
            "W^V_i": "W_v",
            "W^O": "W_o",
            r"\mathrm{head}_i": "head",
        },
        "feedforward.relu": {r"d_{\mathrm{model}}": "d", "d_{ff}": "f"},
        "positional.sinusoidal": {r"PE_{(pos,\, 2i)}": "PE", r"d_{\mathrm{model}}": "d", "10000": "b"},
        "transformer.encoder": {"N": "L"},
        "objectives.cross_entropy": {r"\epsilon_{ls}": "epsilon"},
    },
    "bahdanau2015": {
        "attention.bahdanau_step": {
            "s_{i-1}": "s",
            r"E y_{i-1}": "y",
            "h_j": "h",
            "T_x": "m",
            "W_a, U_a": "W",
            "v_a": "v",
            "e_{ij}": "eta",
            r"\alpha_{ij}": "alpha",
            "c_i": "c",
            "s_i": "s_next",
        },
    },
    "luong2015": {
        "attention.luong_step": {
            r"h_t": "s_next",
            r"\overline{h}_s": "h",
            r"\mathrm{score}(h_t, \overline{h}_s)": "eta",
            r"a_t(s)": "alpha",
            "c_t": "c",
            r"\tilde{h}_t": "h_tilde",
            "W_s": "W_o",
        },
        "scores.general": {"h_t": "q", r"\overline{h}_s": "k", "W_a": "W"},
        "scores.additive": {"W_a": "W", "v_a": "v"},
        "attention.local": {"S": "m", "p_t": "p", r"\sigma": "w"},
    },
    "devlin2019": {
        "bert.encoder": {"H": "d_model", "A": "h"},
        "bert.head_sequence": {"C": "u"},
        "bert.head_span": {"T_i": "x", "S": "w_s", "E": "w_e", "P_i": "p"},
    },
    "hochreiter1997": {
        "recurrent.lstm_cell": {
            r"y^{in_j}(t)": "i",
            r"y^{out_j}(t)": "o",
            r"g(net_{c_j}(t))": "g",
            r"s_{c_j}(t)": "s'",
            r"y^{c_j}(t)": "h'",
        },
    },
    "cho2014": {
        "recurrent.gru_cell": {
            r"\mathbf{h}^{\langle t-1 \rangle}": "h",
            r"\mathbf{W}_r, \mathbf{W}_z, \mathbf{W}": "W_x",
            r"\mathbf{U}_r, \mathbf{U}_z, \mathbf{U}": "W_h",
            r"r_j": "r",
            r"z_j": "z",
            r"\tilde{h}^{\langle t \rangle}_j": "n",
            r"h^{\langle t \rangle}_j": "h'",
        },
    },
    "peters2018": {
        "recurrent.elmo_mix": {
            r"\mathbf{h}^{LM}_{k,j}": "h",
            "s^{task}_j": "a",
            r"\gamma^{task}": "gamma",
            r"\mathbf{ELMo}^{task}_k": "m",
        },
        "recurrent.bilm_objective": {"t_k": "ids", "N": "T"},
    },
    "radford2018": {"gpt.model": {"U": "ids", "W_e": "E", "W_p": "P", "h_l": "H", "n": "L"}},
    "dai2019": {
        "transformer_xl.attention": {
            r"\mathbf{W}_{k,E}": "W_k",
            r"\mathbf{W}_{k,R}": "W_r",
            r"\mathbf{R}_{i-j}": "R",
            "v": "w",
        },
    },
    "yang2019": {
        "xlnet.objective": {
            r"\mathbf{z}": "order",
            r"e(x)": "E",
            "w": "g_0",
            r"h^{(m)}_{z_t}": "H",
            r"g^{(m)}_{z_t}": "G",
        },
    },
    "su2021": {
        "positional.rotary": {"m": "pos", r"m\theta_i": "phi"},
        "positional.frequencies": {"10000": "base"},
    },
    "zhang2019": {
        "normalization.rms_norm": {
            r"\mathbf{a}": "x",
            r"\mathbf{g}": "gamma",
            r"\bar{\mathbf{a}}": "y",
            "n": "d",
        },
    },
    "shazeer2020": {"feedforward.gated": {"W": "W_g", "V": "W_u", "W_2": "W_d"}},
    "ba2016": {
        "normalization.layer_norm": {
            "a^l": "x",
            r"\mu^l": "mu",
            r"(\sigma^l)^2": "var",
            r"\mathbf{g}": "gamma",
            r"\mathbf{b}": "beta",
            "H": "d",
        },
    },
    "loshchilov2019": {
        "optimization.adamw": {
            r"\theta_{t-1}": "theta",
            r"\theta_t": "theta_new",
            r"m_t": "m_new",
            r"v_t": "v_new",
            r"\alpha": "eta",
            r"\lambda": "w",
        },
    },
    "shazeer2017": {"routing.top_k": {"n": "E", "H(x)": "s", "G(x)": "w"}},
    "ainslie2023": {"attention.grouped_query": {"G": "g"}},
    "dosovitskiy2021": {
        "vision.patches": {"P": "p", "D": "d", r"\mathbf{E}": "W"},
        "vision.encoder": {r"\mathbf{x}_{\mathrm{class}}": "cls", r"\mathbf{E}_{pos}": "P"},
    },
}
"""For each work of the bibliography and each formula the work's letters, as LaTeX, with ours. What is the same letter is not
listed.
"""


def tables() -> str:
    """A table for each work, under a heading."""
    return "\n\n".join(f"## {_heading(key)}\n\n{_table(key)}" for key in LETTERS)


def _heading(key: str) -> str:
    work = BIBLIOGRAPHY[key]
    return f"Deck {key}: {work.authors}" if work in DECKS else work.short


def _table(key: str) -> str:
    return table(("There", "Here", "Meaning", "In", "Formula"), _rows(key), "symbols")


def _rows(key: str) -> Iterator[tuple[str, str, str, str, str]]:
    for formula_id, letters in LETTERS[key].items():
        formula = find(formula_id)
        known = symbols(formula)
        for theirs, ours in letters.items():
            letter, meaning, space, _ = known[ours]
            yield (
                inline(theirs),
                letter,
                meaning,
                space,
                f'<a href="{formula_id}.html">{escape(formula.title)}</a>',
            )
