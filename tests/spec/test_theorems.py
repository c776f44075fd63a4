"""Every theorem of the formulas stated so far is proved, for all sizes where the catalogue asks for it."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))  # as MkDocs does for its hooks
from generate import pages, shipped, theorems
from generate.caching import Cache
from generate.origins import Origins

from spec.language import Assurance, Formula, Theorem
from spec.language.proving.proof import Checked, check
from spec.language.registry import formulas
from spec.language.render import latex, unicode

THEOREMS = [(f, t) for f in formulas().values() for t in f.theorems.values()]
CATALOGUE = {
    "similarity.dot": {"bilinear", "symmetric", "cauchy_schwarz"},
    "similarity.cosine": {"bounded", "symmetric", "scale_invariant", "of_itself"},
    "embedding.token": {"one_hot", "gradient", "other_rows", "padding", "scaled"},
    "recurrent.rnn_cell": {"bounded", "slope", "parameters"},
    "recurrent.rnn": {
        "bounded",
        "distribution",
        "parameters",
        "prefix",
        "no_future_gradient",
        "resumes",
        "slopes",
        "vanishes",
        "explodes",
    },
    "recurrent.stacked": {"bounded", "parameters", "another_layer", "two_layers", "prefix"},
    "recurrent.bidirectional": {"bounded", "reversal", "halves", "parameters"},
    "recurrent.lstm_cell": {"gates", "bounded", "carousel", "carries", "parameters"},
    "recurrent.lstm": {"bounded", "parameters", "prefix", "one_step", "iterates", "resumes"},
    "recurrent.lstm_stacked": {"bounded", "parameters", "another_layer", "prefix"},
    "recurrent.lstm_bidirectional": {"bounded", "halves", "reversal", "parameters"},
    "recurrent.gru_cell": {"gates", "between", "carries", "parameters"},
    "recurrent.gru": {"parameters", "prefix", "one_step", "iterates", "resumes"},
    "recurrent.elmo_mix": {"weights", "convex", "alike", "shift_invariant", "linear", "selects"},
    "recurrent.bilm_objective": {"two_models", "not_positive", "shift_invariant", "gradient"},
    "scores.dot": {"bilinear", "symmetric", "variance"},
    "scores.scaled_dot": {"bilinear", "symmetric", "unit_variance", "scale"},
    "scores.general": {"identity", "projected", "bilinear"},
    "scores.additive": {"splits", "bounded", "pairs"},
    "scores.location": {"sums_to_one", "no_keys", "shift_invariant"},
    "scores.cosine": {"pairwise", "bounded", "scale_invariant", "symmetric"},
    "attention.softmax": {
        "sums_to_one",
        "sums_to_at_most_one",
        "masked",
        "ordered",
        "shift_invariant",
        "jacobian",
        "between_0_and_1",
        "permutation_equivariant",
    },
    "attention.additive_weights": {"sums_to_one", "masked_key", "permutation_equivariant", "splits"},
    "attention.scaled_dot_product": {
        "convex_hull",
        "key_permutation",
        "query_permutation",
        "masked_for_all",
        "masked_for_one",
    },
    "attention.self": {"permutation_equivariant"},
    "attention.cross": {
        "self",
        "projected",
        "convex_hull",
        "key_permutation",
        "masked_for_all",
        "no_gradient",
    },
    "attention.multi_head": {
        "heads",
        "one_head",
        "head_permutation",
        "masked_for_all",
        "permutation_equivariant",
        "padding",
        "first_queries",
        "prefix",
    },
    "attention.causal": {"no_future", "no_future_upper_left", "prefix", "prefix_upper_left", "order_matters"},
    "attention.causal_multi_head": {
        "heads",
        "multi_head",
        "no_future",
        "no_future_gradient",
        "prefix",
        "first_token",
        "key_bias",
        "head_permutation",
        "parameters",
    },
    "attention.log_sum_exp": {"weights", "gradient", "shift", "largest", "permutation", "two_blocks"},
    "attention.merge": {
        "all_keys",
        "all_scores",
        "sums",
        "one_block",
        "order",
        "grouping",
        "neutral",
        "one_by_one",
    },
    "attention.cached": {"recomputed", "one_token", "pieces", "window", "token_by_token"},
    "attention.grouped_query": {
        "groups",
        "multi_query",
        "multi_head",
        "repeated",
        "group_permutation",
        "key_permutation",
        "window",
    },
    "attention.qk_norm": {"bounded", "scale_invariant", "temperature"},
    "attention.decoder_heads": {"plain", "softcap", "sinks", "window", "gate", "rolling_cache"},
    "attention.paged": {"gathered", "anywhere", "unread"},
    "attention.sinks": {"key_of_value_0", "gate", "sums_to_less_than_one", "no_key"},
    "attention.softcap": {"bounded", "order", "slope", "no_key_lost", "convex_hull", "key_permutation"},
    "attention.relative": {
        "four_terms",
        "piece",
        "distance",
        "plain",
        "shift",
        "masked_shift",
        "unmasked_shift",
        "ahead",
        "last_queries",
        "prefix",
        "hidden_keys",
    },
    "transformer_xl.attention": {
        "heads",
        "no_memory_gradient",
        "one_pass",
        "prefix",
        "unseen_memory",
        "zeros_are_seen",
        "parameters",
    },
    "transformer_xl.layer": {"no_memory_gradient", "one_pass", "prefix", "unseen_memory", "parameters"},
    "transformer_xl.model": {
        "prefix",
        "segments",
        "kept_gradient",
        "remembered",
        "another_layer",
        "parameters",
    },
    "xlnet.attention": {"hidden", "before", "earlier", "no_key", "names_of_texts", "one_text", "plain"},
    "xlnet.two_stream": {
        "own_token",
        "earlier",
        "own_content",
        "own_gradient",
        "content_alone",
        "first",
        "in_turn",
        "parameters",
    },
    "xlnet.objective": {
        "own_token",
        "in_turn",
        "every_order",
        "all_orders",
        "new_york",
        "parameters",
        "published",
    },
    "attention.hard": {
        "sums_to_one",
        "expectation",
        "log_gradient",
        "score_function",
        "baseline",
        "least_variance",
    },
    "attention.local": {
        "position",
        "gaussian",
        "sums_to_at_most_one",
        "outside_the_window",
        "masked_key",
        "nothing_cut",
        "global",
    },
    "attention.bigbird": {"once", "condition", "zeros", "all", "dense", "two_layers", "few_blocks"},
    "attention.random_blocks": {"only_free"},
    "attention.linformer": {
        "identity",
        "low_rank",
        "order",
        "order_with_bias",
        "shorter",
        "not_causal",
        "cost",
        "parameters",
    },
    "attention.window": {
        "all_before",
        "all",
        "own_key",
        "out_of_reach",
        "out_of_reach_both",
        "rolling_cache",
        "few_keys",
        "few_keys_both",
        "two_layers",
    },
    "attention.bahdanau_step": {
        "weights",
        "convex_hull",
        "masked_annotation",
        "annotations_without_order",
        "state_bounded",
    },
    "attention.luong_step": {
        "weights",
        "convex_hull",
        "masked_annotation",
        "annotations_without_order",
        "state_bounded",
        "words_sum_to_one",
    },
    "positional.sinusoidal": {
        "shift_of_a_pair",
        "linear_shift",
        "linear_shift_odd",
        "shifts_compose",
        "shifts_are_orthogonal",
        "bounded",
        "inner_product",
        "norm",
        "norm_odd",
        "wavelengths",
        "slowest",
        "prefix",
    },
    "positional.learned": {"one_hot"},
    "positional.frequencies": {"unscaled", "unscaled_ntk", "first", "first_ntk", "last_ntk", "length"},
    "positional.yarn": {
        *(name + ramp for name in ("fast", "slow", "between", "unscaled") for ramp in ("", "_pairs")),
        "length",
        "temperature",
        "twice",
    },
    "positional.turned": {
        *(name + pairs for name in ("relative", "angle_gradient") for pairs in ("", "_halves")),
        "norm",
        "gradient",
        "composition",
        "inverse",
        "still",
    },
    "positional.rotary": {
        "relative",
        "norm",
        "shift",
        "composition",
        "origin",
        "gradient",
        "one_side",
    },
    "positional.partial_rotary": {"scores", "shift", "norm", "composition"},
    "normalization.layer_norm": {
        "zero_mean",
        "variance",
        "norm",
        "no_gain",
        "norm_without_eps",
        "shift_invariant",
        "scale",
        "scale_invariant",
        "backward",
    },
    "normalization.rms_norm": {
        "mean_square",
        "no_gain",
        "scale",
        "scale_invariant",
        "no_shift_invariance",
        "backward",
    },
    "normalization.residual": {"jacobian", "identity"},
    "normalization.add_norm": {"symmetric", "nothing_added", "cancelled", "level", "backward"},
    "feedforward.relu": {
        "units",
        "unit_permutation",
        "homogeneous",
        "rescaled_units",
        "backward",
        "parameters",
    },
    "feedforward.gelu": {"units", "unit_permutation", "mirrored", "between", "backward", "parameters"},
    "transformer.encoder_layer": {"permutation_equivariant", "padding", "parameters"},
    "transformer.encoder": {
        "permutation_equivariant",
        "padding",
        "order_matters",
        "another_layer",
        "parameters",
    },
    "transformer.decoder_layer": {"prefix", "source_padding", "parameters"},
    "transformer.biased_decoder_layer": {"decoder_layer", "prefix", "source_padding", "parameters"},
    "transformer.decoder": {"prefix", "order_matters", "source_padding", "another_layer", "parameters"},
    "transformer.output": {"sums_to_one", "odds", "jacobian"},
    "transformer.model": {"sums_to_one", "prefix", "source_padding", "parameters"},
    "transformer.cost": {
        "counted",
        "heads",
        "difference",
        "shorter",
        "longer",
        "with_projections",
        "four_gates",
        "against_convolution",
        "twice_as_long",
        "stack",
        "one_layer",
        "waiting",
    },
    "masking.mlm": {
        "sums_to_one",
        "special_never_selected",
        "not_negative",
        "expected_fractions",
        "expected_selected",
        "expected_changed",
    },
    "masking.whole_words": {
        "as_often_as_mlm",
        "sums_to_one",
        "special_never_selected",
        "not_negative",
        "selected",
        "expected_selected",
    },
    "objectives.cross_entropy": {
        "padding",
        "equal_costs",
        "gradient",
        "ignored_without_influence",
        "shift_invariant",
        "unsmoothed",
        "smoothing",
        "not_negative",
        "at_least_entropy",
        "nothing_known",
        "none_asked",
        "others",
    },
    "objectives.linear_cross_entropy": {"gradients", "ignored_without_influence"},
    "objectives.autoregressive": {
        "first_word",
        "chain_rule",
        "last_word",
        "sums_to_one",
        "not_positive",
        "cross_entropy",
        "shift_invariant",
        "gradient",
    },
    "decoding.sample": {"scales", "shift_invariant", "probabilities", "cut_off", "ordered"},
    "objectives.distillation": {
        "gradient",
        "agreement",
        "entropy",
        "not_negative",
        "shift_invariant",
        "scales",
        "logit_matching",
        "nearly_matching",
        "flattens",
    },
    "objectives.warmup": {"rises", "falls", "meets", "largest", "linear", "root"},
}


def name_of(value: object) -> str:
    """A test's name: formula and theorem."""
    return value.id if isinstance(value, Formula) else value.name if isinstance(value, Theorem) else ""


@pytest.fixture(scope="module", params=THEOREMS, ids=lambda pair: "-".join(map(name_of, pair)))
def checked(request: pytest.FixtureRequest) -> Checked:
    """A theorem, checked once for the tests of it, which run one after the other."""
    formula, theorem = request.param
    found = check(theorem, formula)
    piece = "theorem", f"{formula.id}.{theorem.name}"
    made = theorems.piece(found)
    kept = shipped.find(piece[1], origins().digest(piece))
    assert kept in (None, made), "what docs/proofs.json.xz holds was not proved from this statement"
    pages.keep(Cache(), origins(), piece, made)  # the tests of the pages need not prove it again
    return found


@cache
def origins() -> Origins:
    """What the pieces of the pages are made from."""
    return Origins()


def test_a_theorem_is_proved_for_all_sizes(checked: Checked) -> None:
    """By derivation (or, where something is claimed to exist, by a witness), with every obligation discharged; what its
    author only encloses says no more.
    """
    enclosed = any(claim.proof.method == "enclosure" for claim in checked.theorem.claims)
    assert checked.assurance == (Assurance.ENCLOSED if enclosed else Assurance.PROVED), checked.refusal


def test_every_theorem_of_the_catalogue_is_there() -> None:
    """The rows of the catalogue, formula by formula."""
    assert {f.id: set(f.theorems) for f in formulas().values() if f.id in CATALOGUE} == CATALOGUE


def test_a_derivation_can_be_shown(checked: Checked) -> None:
    """Title, claims and steps are text, as LaTeX and in a terminal."""
    title = checked.theorem.title
    assert title[0].isupper() or title[0] in "‖⟨∂PM"
    assert not title.endswith(".")
    for claim in checked.claims:
        for step in claim.every_step:
            assert step.why
            for side in (step.left, step.right):
                assert latex(side)
                assert unicode(side)


def test_what_a_theorem_is_given_does_not_hide_an_input() -> None:
    """Letters mean one thing each."""
    for formula, theorem in THEOREMS:
        inputs = {t.name for t in (*formula.tensors, *formula.constants)}
        assert not inputs & {t.name for t in theorem.given}
