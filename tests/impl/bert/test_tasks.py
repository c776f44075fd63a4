"""Heads beside transformers' with the same parameters: logits, losses and gradients."""

from copy import deepcopy

import pytest
import torch

from impl.bert import (
    BertEncoder,
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
)

BEGINNINGS = {
    "bert": "Bert",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
    "albert": "Albert",
    "distilbert": "DistilBert",
}
LABELS = 5


@pytest.fixture
def both(randomized, theirs):
    """Ours in float64 with random parameters, and transformers' with the same."""

    def build(task, config, *more):
        ours = randomized(task(BertEncoder(config, pooler=task.pooled), *more)).double()
        return ours, theirs(ours, BEGINNINGS[config.family] + task.__name__.removeprefix("Bert"))

    return build


@pytest.fixture
def labels(mask):
    """A word at a third of the real places."""
    generator = torch.Generator().manual_seed(3)
    words = torch.randint(41, mask.shape, generator=generator)
    return words.masked_fill(~mask | (torch.rand(mask.shape, generator=generator) > 1 / 3), -100)


@pytest.fixture
def close(allowed):
    """Whether what ours says in float64 is what theirs says, up to the rounding of another order of summation.

    Of a loss the rounding is that of its logits, ``of``: where each is off by e, cross entropy is off by 2 e at most.
    """

    def judge(got, model, said, of=None):
        def wanted(dtype, said=said):
            with torch.no_grad():
                return said(deepcopy(model).to(dtype)).double()

        room = (
            allowed(wanted, torch.float64)
            if of is None
            else 2 * allowed(lambda dtype: wanted(dtype, of), torch.float64)
        )
        return (got - wanted(torch.float64)).abs().max() <= room

    return judge


def test_logits_of_words(member, both, close, ids, mask, labels):
    """Of every family; at places that are asked for, they are those rows."""
    ours, model = both(BertForMaskedLM, member)
    words = ids(member)

    def theirs(model):
        return model(words, mask.long()).logits[mask]

    logits = ours(words, mask=mask)
    assert close(logits[mask], model, theirs)
    at = labels >= 0
    # The same rows of a product of matrices, in blocks of other sizes: a few roundings of entries of size 10.
    torch.testing.assert_close(ours(words, mask=mask, at=at), logits[at], rtol=0, atol=1e-12)
    loss = ours(words, mask=mask, labels=labels)
    assert close(loss, model, lambda model: model(words, mask.long(), labels=labels).loss, theirs)


def test_gradients_of_the_loss_of_words(config, both, ids, mask, labels):
    """Every parameter's is transformers', the table of words' among them, which is there twice."""
    ours, model = both(BertForMaskedLM, config)
    words = ids(config)
    ours(words, mask=mask, labels=labels).backward()
    model(words, mask.long(), labels=labels).loss.backward()
    theirs = {name: p.grad for name, p in model.named_parameters()}
    found = {
        "words.bias": "cls.predictions.bias",
        "words.dense.weight": "cls.predictions.transform.dense.weight",
        "encoder.embeddings.E": "bert.embeddings.word_embeddings.weight",
        "encoder.embeddings.P": "bert.embeddings.position_embeddings.weight",
        "encoder.layers.1.contract.weight": "bert.encoder.layer.1.output.dense.weight",
        "encoder.layers.2.norm_output.weight": "bert.encoder.layer.2.output.LayerNorm.weight",
    }
    for name, their in found.items():
        mine, other = ours.get_parameter(name).grad, theirs[their]
        if name.endswith(".E"):  # theirs says that padding has no gradient; as a word to be found it has one
            mine, other = mine[1:], other[1:]
        # Two orders of summation over some thousand terms: within 1e-16 · √1000 of the largest entry, a hundredfold kept free.
        torch.testing.assert_close(mine, other, rtol=0, atol=float(other.abs().max()) * 3e-13)


def test_without_a_label_the_loss_is_0(config, both, ids, mask):
    """And its gradient."""
    ours, _ = both(BertForMaskedLM, config)
    loss = ours(ids(config), mask=mask, labels=torch.full(mask.shape, -100))
    loss.backward()
    assert loss == 0
    assert all(p.grad is None or not p.grad.any() for p in ours.parameters())


@pytest.mark.parametrize("family", ["bert", "albert"])
def test_both_tasks_of_pre_training(family, configs, both, close, ids, mask, segments, labels):
    """Logits and losses; ALBERT's second task has a layer of the same kind."""
    config = configs[family]
    ours, model = both(BertForPreTraining, config)
    words, follows, segments = ids(config), torch.tensor([0, 1, 1, 0, 1]), segments.clamp(max=1)
    logits = ours(words, segments, mask)
    name = "seq_relationship_logits" if family == "bert" else "sop_logits"
    assert close(
        logits.words[mask], model, lambda model: model(words, mask.long(), segments).prediction_logits[mask]
    )
    assert close(logits.next, model, lambda model: model(words, mask.long(), segments)[name])
    losses = ours(words, segments, mask, labels=labels, next_labels=follows)
    second = {"next_sentence_label" if family == "bert" else "sentence_order_label": follows}

    def theirs(model):
        return model(words, mask.long(), segments, labels=labels, **second)

    assert close(
        sum(losses), model, lambda model: theirs(model).loss, lambda model: theirs(model).prediction_logits
    )
    with pytest.raises(ValueError, match="expected labels and next_labels, or neither"):
        ours(words, segments, mask, labels=labels)


def test_a_label_of_a_sequence(member, both, close, ids, mask):
    """Of every family: RoBERTa's and DistilBERT's classifiers hold what is the pooler elsewhere."""
    ours, model = both(BertForSequenceClassification, member, LABELS)
    words, labels = ids(member), torch.tensor([3, 0, 4, 1, 3])

    def theirs(model):
        return model(words, mask.long()).logits

    assert model.config.num_labels == LABELS
    assert close(ours(words, mask=mask), model, theirs)
    loss = ours(words, mask=mask, labels=labels)
    assert close(loss, model, lambda model: model(words, mask.long(), labels=labels).loss, theirs)


def test_a_label_of_every_token(member, both, close, ids, mask, labels):
    """Of every family."""
    ours, model = both(BertForTokenClassification, member, LABELS)
    words, labels = ids(member), labels.where(labels < 0, labels % LABELS)

    def theirs(model):
        return model(words, mask.long()).logits[mask]

    assert close(ours(words, mask=mask)[mask], model, theirs)
    loss = ours(words, mask=mask, labels=labels)
    assert close(loss, model, lambda model: model(words, mask.long(), labels=labels).loss, theirs)


def test_the_span_of_an_answer(member, both, close, ids, mask):
    """Of every family; padding can be neither end. Without padding the loss is transformers'."""
    ours, model = both(BertForQuestionAnswering, member)
    words, starts, ends = ids(member), torch.tensor([2, 11]), torch.tensor([7, 16])

    def theirs(model):
        said = model(words, mask.long())
        return torch.stack([said.start_logits[mask], said.end_logits[mask]])

    span = ours(words, mask=mask)
    assert close(torch.stack([span.start[mask], span.end[mask]]), model, theirs)
    assert torch.isneginf(span.start[~mask]).all()
    assert torch.isneginf(span.end[~mask]).all()
    whole = words[[0, 0]]
    loss = ours(whole, starts=starts, ends=ends)
    assert close(
        loss, model, lambda model: model(whole, start_positions=starts, end_positions=ends).loss, theirs
    )
    with pytest.raises(ValueError, match="expected starts and ends, or neither"):
        ours(whole, starts=starts)


def test_what_is_not_masked_takes_no_head(config, both, ids, mask, labels):
    """The head for words works on the rows that have a label and on no others."""
    ours, _ = both(BertForMaskedLM, config)
    rows = []
    ours.words.register_forward_hook(lambda module, given, made: rows.append(given[0].shape[:-1].numel()))
    ours(ids(config), mask=mask, labels=labels)
    ours(ids(config), mask=mask, at=labels >= 0)
    assert rows == 2 * [int((labels >= 0).sum())]


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused(config, configs, ids, mask, labels):
    """In one line."""
    masked = BertForMaskedLM(BertEncoder(config))
    words = ids(config)
    for call, line in [
        (lambda: masked(words, labels=labels, at=labels >= 0), "bert: expected labels or at; got both"),
        (lambda: masked(words, labels=labels[:3]), r"bert: expected labels \(\.\.\. n\), one for each token"),
        (lambda: BertForPreTraining(BertEncoder(configs["roberta"])), "roberta has no task of sentences"),
        (
            lambda: BertForSequenceClassification(BertEncoder(config, pooler=False), 3),
            "expected an encoder with a pooler",
        ),
    ]:
        with pytest.raises(ValueError, match=line):
            call()


def test_equal_seeds_draw_equal_heads(config):
    """Whatever the encoder is."""
    encoder = BertEncoder(config)
    one, other = (
        BertForTokenClassification(encoder, 3, generator=torch.Generator().manual_seed(5)) for _ in range(2)
    )
    assert torch.equal(one.classifier.weight, other.classifier.weight)
    assert one.classifier.weight.any()
    assert not one.classifier.bias.any()


@pytest.mark.parametrize(
    ("label", "line"),
    [
        (3, "labels in 0..2, below 3, or -100; got labels[0, 0] = 3"),
        (-1, "below 3, or -100; got labels[0, 0] = -1"),
    ],
)  # fmt: skip
def test_labels_that_are_no_classes_are_refused_in_one_line(config, label, line):
    """One beyond the classes, and another below 0 than −100."""
    model = BertForTokenClassification(BertEncoder(config), labels=3)
    with pytest.raises(IndexError) as caught:
        model(torch.zeros(2, 5, dtype=torch.int64), labels=torch.full((2, 5), label))
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_word_labelled_minus_one_is_refused(config):
    """−100 alone says that a place has no label: −1 is not left out in silence."""
    model = BertForMaskedLM(BertEncoder(config))
    with pytest.raises(IndexError, match="-1"):
        model(torch.zeros(2, 5, dtype=torch.int64), labels=torch.full((2, 5), -1))
