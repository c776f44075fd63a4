"""The tests of the tests, a fast selection; the full run at the default number of examples is ``attnspec mutants``."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from spec.language.registry import statement, statement_ids
from tests.mutants import Variant, variants
from verify.checking import check
from verify.command import tasks
from verify.command.mutants import headlines_said, judge_variant, until_falsified
from verify.command.tasks import Task, TaskResult
from verify.faults import Unusable
from verify.report import CheckResult, Counterexample, Reason, Report

# One of each kind of mistake: value, gradient, mask, convention, law, in-place damage, precision; and one right one each.
WRONG = {
    "similarity.cosine": ("nan_for_zero",),
    "embedding.token": ("padding_silenced", "ids_in_16_bits"),
    "recurrent.rnn": ("truncated_gradient",),
    "recurrent.lstm_cell": ("coupled",),
    "recurrent.lstm": ("order_of_onnx", "inner_state_detached"),
    "recurrent.gru_cell": ("biases_together",),
    "recurrent.gru": ("state_detached", "state_zero_after_a_block"),
    "recurrent.elmo_mix": ("weights_detached",),
    "recurrent.bilm_objective": ("logarithm_of_the_softmax",),
    "scores.dot": ("gradient_of_a_mean", "normalised_in_place"),
    "scores.scaled_dot": ("scale_in_single", "cached_by_shape"),
    "scores.general": ("keys_kept_by_weights",),
    "scores.additive": ("key_first", "square_transposed"),
    "scores.cosine": ("lengths_detached",),
    "feedforward.relu": ("straight_through",),
    "feedforward.gelu": ("gate_detached",),
    "feedforward.gated": ("gated_interleaved",),
    "activation.relu": ("relu_straight_through",),
    "activation.gelu": ("gelu_cube_forgotten",),
    "activation.silu": ("silu_by_complement",),
    "activation.log_softmax": ("log_of_the_softmax", "log_softmax_sum_detached"),
    "optimization.adamw": ("decay_in_the_gradient", "weights_in_place"),
    "routing.top_k": ("the_last_of_equals", "not_renormalised"),
    "routing.capacity": ("members_compete", "first_choices_first"),
    "llama.attention": ("llama_tiled", "llama_frequencies_learn"),
    "llama.layer": ("llama_sum_of_the_normalised",),
    "llama.model": ("llama_last_norm_forgotten",),
    "normalization.add_rms_norm": ("add_rms_sum_detached",),
    "normalization.residual": ("row_detached",),
    "normalization.add_norm": ("mean_of_both",),
    "embedding.bert": ("segments_exchanged", "large_eps"),
    "transformer.encoder_layer": ("one_norm_for_both",),
    "bert.layer": ("bert_gelu_by_tanh",),
    "bert.pooler": ("pooled_without_tanh",),
    "bert.encoder": ("padding_seen",),
    "gpt.layer": ("gpt_sees_the_next",),
    "gpt.model": ("positions_of_the_row",),
    "xlnet.attention": ("texts_by_number",),
    "xlnet.two_stream": ("own_token_seen", "first_sees_all", "content_detached"),
    "xlnet.objective": ("predicted_masked",),
    "bert.features": ("embedding_in_the_sum", "last_detached"),
    "bert.head_mlm": ("bias_before_the_norm", "table_detached"),
    "bert.head_sequence": ("softmax_in_the_head",),
    "bert.head_pair": ("softmax_over_the_batch",),
    "bert.head_token": ("first_silenced",),
    "bert.head_span": ("end_before_start", "spans_renormalised"),
    "bert.pack": ("separator_in_second", "cut_after_packing"),
    "bert.wordpiece": ("fewest", "from_the_end"),
    "transformer_xl.attention": ("oldest_row_unseen",),
    "transformer_xl.layer": ("wrong_end_added",),
    "transformer_xl.model": ("kept_learns",),
    "gpt.bpe": ("latin_1_alone", "leftmost_first"),
    "transformer.decoder_layer": ("sees_the_next",),
    "transformer.biased_decoder_layer": ("source_zeroed",),
    "evoformer.gated_attention": ("gate_on_the_values",),
    "evoformer.row_attention": ("row_bias_of_the_next_head",),
    "evoformer.column_attention": ("column_along_rows",),
    "evoformer.transition": ("transition_added",),
    "evoformer.outer_product_mean": ("outer_sum",),
    "evoformer.triangle_multiplication": ("projections_not_exchanged", "mean_over_residues"),
    "evoformer.triangle_attention": ("mask_not_turned",),
    "evoformer.block": ("outer_of_the_old",),
    "transformer.output": ("not_shifted",),
    "transformer.cost": ("width_in_each_head", "rounded_down"),
    "attention.multi_head": ("output_transposed", "viewed_without_transpose", "first_head_masked"),
    "attention.biased_multi_head": ("output_bias_in_every_head",),
    "attention.additive_weights": ("padding_keeps_its_share",),
    "attention.causal_multi_head": ("split_by_a_view", "values_cut_off"),
    "attention.cached": ("asked_before_kept", "one_buffer"),
    "attention.log_sum_exp": ("masked_largest",),
    "attention.merge": ("empty_counts", "weights_detached"),
    "attention.grouped_query": ("heads_by_a_view",),
    "attention.qk_norm": ("over_all_heads",),
    "attention.decoder_heads": ("sink_capped",),
    "attention.paged": ("whole_pages_read",),
    "attention.sinks": ("scores_not_shifted",),
    "attention.softcap": ("capped_after_the_mask", "straight_through"),
    "attention.relative": ("shifted_without_mask",),
    "attention.softmax": ("small_fill", "denominator_detached"),
    "attention.scaled_dot_product": ("scale_of_values",),
    "attention.causal": ("upper_left",),
    "attention.hard": ("antithetic", "value_detached"),
    "attention.local": ("cut_after", "position_detached", "window_open"),
    "attention.window": ("own_key_counted",),
    "attention.linformer": ("bias_of_the_keys_alone",),
    "attention.bigbird": ("named_again",),
    "attention.random_blocks": ("any_block",),
    "attention.bahdanau_step": ("new_state_aligns", "weights_detached"),
    "attention.luong_step": ("state_first",),
    "positional.sinusoidal": ("even_only", "precedence"),
    "positional.learned": ("padding_row", "renormalised"),
    "positional.turned": ("overwritten",),
    "positional.rotary": ("half_angles",),
    "positional.partial_rotary": ("halves_of_all", "rest_detached"),
    "positional.frequencies": ("base_grown", "in_half"),
    "positional.yarn": ("ramp_by_turns", "no_factor"),
    "normalization.layer_norm": ("eps_outside", "statistics_detached", "one_pass"),
    "normalization.rms_norm": ("eps_as_floor",),
    "masking.mlm": (
        "eighty_one",
        "one_word_a_row",
        "reseeded",
        "again_where_none",
    ),
    "objectives.cross_entropy": ("ignored_in_the_count", "two_left_out", "smoothing_detached"),
    "objectives.linear_cross_entropy": ("mean_of_means", "last_part_only"),
    "masking.whole_words": (
        "across_rows",
        "random_words_in_succession",
    ),
    "masking.nsp": ("true_next_drawn",),
    "objectives.mlm": ("mean_over_all_places", "asked_of_one_more"),
    "objectives.nsp": ("labels_swapped", "overflowing"),
    "objectives.bert": ("pairs_summed",),
    "objectives.autoregressive": ("logarithm_of_the_product",),
    "objectives.distillation": ("not_scaled", "swapped"),
    "objectives.warmup": ("line_too_long",),
    "vision.patches": ("patch_transposed",),
    "vision.encoder": ("patches_from_zero",),
    "vision.classifier": ("mean_of_patches",),
    "decoding.sample": ("cut_before_last",),
    "decoding.greedy": ("positions_restart", "ties_at_random"),
    "decoding.beam": ("cache_not_reordered", "pruned_unpenalised"),
    "scaling.kaplan": ("share_not_raised",),
    "scaling.filter_normalised": ("nan_for_zero",),
}
RIGHT = {
    "attention.biased_multi_head": ("no_key_bias",),
    "embedding.bert": ("by_one_hot",),
    "bert.layer": ("bert_without_key_bias",),
    "transformer.biased_decoder_layer": ("without_key_biases",),
    "gpt.layer": ("gpt_token_by_token",),
    "xlnet.attention": ("head_term_by_term",),
    "bert.pooler": ("pooled_by_products",),
    "bert.features": ("by_list",),
    "bert.head_mlm": ("in_one_go",),
    "bert.head_sequence": ("by_products",),
    "bert.head_span": ("by_scores",),
    "bert.pack": ("token_by_token",),
    "bert.wordpiece": ("by_looking_up",),
    "transformer_xl.attention": ("head_by_head",),
    "gpt.bpe": ("list_in_one_pass",),
    "objectives.mlm": ("by_one_hot",),
    "objectives.nsp": ("by_softmax",),
    "feedforward.gelu": ("by_complement",),
    "feedforward.gated": ("gated_in_one_product",),
    "activation.log_softmax": ("log_softmax_from_the_largest",),
    "optimization.adamw": ("step_by_factors",),
    "routing.top_k": ("by_rank",),
    "routing.capacity": ("counted_at_experts",),
    "llama.attention": ("llama_by_the_kernel",),
    "normalization.add_rms_norm": ("add_rms_by_squares_of_both",),
    "normalization.add_norm": ("means_added",),
    "transformer.output": ("by_logarithms",),
    "transformer.cost": ("by_rounding_up",),
    "similarity.cosine": ("unit_vectors", "plain"),
    "scaling.kaplan": ("by_logarithms",),
    "scaling.filter_normalised": ("by_mean_squares",),
    "scores.dot": ("left_to_right",),
    "recurrent.lstm": ("torch_reordered",),
    "recurrent.gru": ("by_the_kernel",),
    "scores.additive": ("concatenated",),
    "attention.multi_head": ("packed_projections",),
    "attention.additive_weights": ("pair_by_pair",),
    "attention.causal_multi_head": ("fused",),
    "attention.cached": ("token_by_token",),
    "attention.log_sum_exp": ("key_by_key",),
    "attention.merge": ("by_running_sums",),
    "attention.grouped_query": ("group_by_group",),
    "attention.qk_norm": ("norm_as_written",),
    "attention.decoder_heads": ("last_query_alone",),
    "attention.paged": ("slot_by_slot",),
    "attention.sinks": ("by_sums",),
    "attention.softcap": ("query_by_query",),
    "attention.relative": ("in_four_terms",),
    "attention.softmax": ("two_passes",),
    "attention.scaled_dot_product": ("by_blocks",),
    "attention.hard": ("by_multinomial",),
    "attention.local": ("in_one_exponential",),
    "attention.window": ("window_of_slices",),
    "attention.linformer": ("scores_first",),
    "attention.bigbird": ("block_after_block",),
    "attention.random_blocks": ("by_order",),
    "attention.luong_step": ("split_weights",),
    "positional.sinusoidal": ("complex_numbers",),
    "positional.turned": ("turned_halves",),
    "positional.rotary": ("by_complex_numbers",),
    "positional.partial_rotary": ("first_then_rest",),
    "positional.frequencies": ("by_a_larger_base",),
    "positional.yarn": ("yarn_clamped",),
    "normalization.layer_norm": ("welford", "members_in_parts"),
    "normalization.rms_norm": ("shrunk_first",),
    "masking.mlm": ("one_by_one",),
    "masking.whole_words": ("by_scatter",),
    "objectives.cross_entropy": ("by_shares",),
    "objectives.linear_cross_entropy": ("part_by_part_of_the_vocabulary",),
    "objectives.autoregressive": ("by_log_sum_exp",),
    "objectives.distillation": ("by_kl_div",),
    "objectives.warmup": ("by_cases",),
    "vision.patches": ("channel_by_channel",),
    "decoding.beam": ("prompt_by_prompt",),
}

FEW = {"attention": 40, "scores": 40, "recurrent": 24, "decoding": 50}
"""How many examples each check of a wrong variant has, by subject: fewer where one takes longer."""
ENOUGH = 24
"""Of a right one, which is to the end of every check: what most of these take does not depend on it."""


def picked(names: dict[str, tuple[str, ...]]) -> list[Variant]:
    """The named variants."""
    found = {(v.formula_id, v.name): v for v in variants()}
    return [found[formula_id, name] for formula_id, chosen in names.items() for name in chosen]


def run(variant: Variant) -> TaskResult:
    """Check a variant with few examples, until it is falsified."""
    few = ENOUGH if variant.is_right else FEW.get(variant.formula_id.split(".")[0], 80)
    how = {"max_examples": few, "causes": False, "until_falsified": True}
    report = check(variant.call, variant.formula_id, **how, **variant.options)
    return TaskResult(Task("variant", variant.name, variant.formula_id), report)


@pytest.mark.parametrize("variant", picked(WRONG), ids=lambda v: f"{v.formula_id}-{v.name}")
def test_a_wrong_variant_is_falsified(variant: Variant) -> None:
    """A wrong variant is falsified, by something compared and not by an exception alone."""
    fine, verdict, by = judge_variant(False, run(variant))
    assert fine, (verdict, by)


@pytest.mark.parametrize("variant", picked(RIGHT), ids=lambda v: f"{v.formula_id}-{v.name}")
def test_a_right_variant_conforms(variant: Variant) -> None:
    """A right variant, however it is written, conforms."""
    fine, verdict, by = judge_variant(True, run(variant))
    assert fine, (verdict, by)


def test_every_formula_has_wrong_and_right_variants() -> None:
    """Each formula has at least eight wrong variants and a right one, each with a sentence, and unique names."""
    wrong = Counter(v.formula_id for v in variants() if not v.is_right)
    right = Counter(v.formula_id for v in variants() if v.is_right)
    assert all(wrong[formula_id] >= 8 and right[formula_id] >= 1 for formula_id in statement_ids()), (
        wrong,
        right,
    )
    assert all(v.says.endswith(".") or v.says.endswith(")") for v in variants())
    names = Counter((v.formula_id, v.name) for v in variants())
    assert max(names.values()) == 1


def test_a_variant_that_a_pitfall_names_is_a_wrong_one_of_its_formula() -> None:
    """What a page says goes wrong can be seen going wrong."""
    wrong = {(v.formula_id, v.name) for v in variants() if not v.is_right}
    named = {(i, p.mutant) for i in statement_ids() for p in statement(i).pitfalls if p.mutant}
    assert named
    assert named <= wrong, named - wrong


def test_the_conventions_of_every_variant_exist() -> None:
    """The conventions under which a variant is judged are its formula's."""
    for variant in variants():
        statement(variant.formula_id).choose(variant.conventions)


def test_every_wrong_variant_names_its_cause_beforehand() -> None:
    """A headline that names another is counted; patterns that most headlines match would accept any."""
    told = "x is ignored: other values change nothing; the line z is not divided by √d_k in float32"
    expected = [re.compile(v.cause, re.IGNORECASE) for v in variants() if not v.is_right]
    assert all(each.pattern for each in expected)
    assert sum(bool(each.search(told)) for each in expected) < len(expected) / 10


def test_without_a_checkout_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is installed holds no variants: the command says where they are."""
    monkeypatch.setattr(tasks, "__file__", str(tmp_path / "verify" / "command" / "tasks.py"))
    with pytest.raises(Unusable, match="in a checkout"):
        tasks.variants()


def test_a_variant_is_found_in_its_module_by_its_name() -> None:
    """A row is, too: a worker process, a script or the command can ask for it by where it is."""
    there = {(v.call.__module__, v.name): v.call for v in reversed(variants())}
    assert all(module.startswith("tests.mutants.") for module, _ in there)
    assert [name for name in there if getattr(sys.modules[name[0]], name[1]) is not there[name]] == []


def test_headlines_are_counted_beside_the_causes_that_are_expected() -> None:
    """The cause that its row names, where it fails, nothing, or another cause, which is listed."""
    (named,) = (v for v in variants(("feedforward.relu",)) if v.name == "no_inner_bias")
    wrong = replace(named, cause="b_1 is (ignored|not added)")

    def headline(reason: Reason, hint: str) -> Report:
        failed = [CheckResult("value in float64", "value", "falsified")]
        return Report("feedforward.relu", "x", {}, failed, reason=reason, hint=hint)

    found = [
        headline(Reason.CAUSE, "b_1 is ignored: as if it were 0"),
        headline(Reason.CONVENTIONS, "conforms under convention x=y"),
        headline(Reason.NONE, "the values are wrong at d = 1"),
        headline(Reason.NONE, ""),
        headline(Reason.CAUSE, "axes swapped: x is read as its transpose"),
    ]
    listed, counted = headlines_said([(wrong, each) for each in found])
    assert listed.startswith("feedforward.relu no_inner_bias: axes swapped")
    assert counted == "headlines: 2 right cause, 1 right place, 1 bare, 1 wrong cause"


def test_an_exception_alone_does_not_count() -> None:
    """A mutant that only raises, or a checker that fails, is misjudged; a compared entry counts."""

    def outcome(*checks: CheckResult) -> TaskResult:
        return TaskResult(Task("variant", "x", "scores.dot"), Report("scores.dot", "x", {}, list(checks)))

    raised = CheckResult(
        "value in float64", "value", "falsified", message="scores.dot: x raised ValueError: no"
    )
    example = Counterexample({}, "float64", got=1.0, expected=2.0)
    compared = CheckResult("value in float32", "value", "falsified", counterexample=example)
    assert not judge_variant(False, outcome(raised))[0]
    assert judge_variant(False, outcome(raised, compared))[0]
    assert not judge_variant(True, outcome(compared))[0]
    assert not judge_variant(
        False, TaskResult(Task("variant", "x", "scores.dot"), error="ZeroDivisionError")
    )[0]
    assert not judge_variant(False, outcome(CheckResult("value", "value", "conforms")))[0]


def test_a_right_variant_is_not_imprecise_unless_it_declares_coarse_sums() -> None:
    """A wrong one may be caught by its accuracy; a right one is careful, or says that its sums are coarse."""

    def outcome(intermediates: str) -> TaskResult:
        checks = [CheckResult("accuracy in float16", "accuracy", "imprecise")]
        report = Report("scores.dot", "x", {"intermediates": intermediates}, checks)
        return TaskResult(Task("variant", "x", "scores.dot"), report)

    assert (
        judge_variant(False, TaskResult(Task("variant", "x", "scores.dot"), outcome("accumulate").report))[1]
        == "imprecise"
    )
    assert not judge_variant(True, outcome("accumulate"))[0]
    assert judge_variant(True, outcome("storage"))[0]


def test_the_first_violation_is_timed():
    """Before it is made small, so sooner than the whole takes; nothing where nothing was falsified."""
    wrong, right = (
        next(v for v in variants(("similarity.dot",)) if v.is_right == is_right) for is_right in (False, True)
    )
    found, fine = (
        check(v.call, v.formula_id, max_examples=10, causes=False, **v.options) for v in (wrong, right)
    )
    assert found.first_violation is not None
    assert 0 < found.first_violation < found.seconds
    assert fine.first_violation is None
    assert found.to_dict()["first_violation"] == found.first_violation


def test_the_times_to_the_first_counterexamples_are_summed_up():
    """The median, and the smallest time within which 95 of 100 stay; reports that found nothing do not count."""
    times = [None, *(float(t) for t in range(1, 21))]
    reports = [Report("similarity.dot", "f", {}, first_violation=t) for t in times]
    assert until_falsified(reports) == (
        "time to the first counterexample: median 10.50 s, 95 % within 19.00 s"
    )
    assert until_falsified(reports[:1]) == ""
