"""The learning rate of the Transformer: up in a straight line, then down with the root of the step."""

from spec.vocabulary import *

d_model, warmup_steps = sizes("d_model warmup_steps")

step = data("step", domain="positive", meaning="the step of training, counted from 1")
rising = tensor("rising", domain="nonnegative", meaning="a straight line through 0")
falling = tensor("falling", domain="nonnegative", meaning="one over the root of the step")
lr = tensor("lr", domain="nonnegative", meaning="learning rate at this step")

warmup = Formula(
    "objectives.warmup",
    "Learning rate with warm-up",
    why="How large should the steps of training be, and when? At the beginning the weights are random, their gradients point "
    "anywhere, and the optimizer's running averages rest on few of them; large steps then do damage that is not undone. "
    "So the rate rises in a straight line from 0, and falls afterwards with the root of the step, so that training settles; "
    "wider models get smaller steps throughout.",
    sizes={d_model: "width of the model", warmup_steps: "steps until the rate is largest"},
    inputs=(step, d_model, warmup_steps),
    lines=(
        define(rising, step / (warmup_steps * sqrt(warmup_steps))),
        define(falling, 1 / sqrt(step)),
        define(lr, case(le(rising, falling), rising, falling) / sqrt(d_model)),
    ),
    outputs=(lr,),
    pitfalls=(
        pitfall("steps counted from 0: the first one changes nothing", mutant="counted_from_zero"),
        pitfall(
            "warmup_steps to the power −0.5 in the rising part: it does not meet the falling one",
            mutant="wrong_power",
        ),
        pitfall(
            "taken for a factor of a rate of one's own: the formula gives the rate itself", mutant="a_factor"
        ),
    ),
    sources=(paper("vaswani2017", "section 5.3, eq. 3"),),
    worked=(
        Worked(
            "The base model at its largest rate: width 512, step 4000 of 4000, 1/√(512·4000)",
            {"step": 4000, "d_model": 512, "warmup_steps": 4000},
            "0.000699",
            6,
        ),
        Worked(
            "At four times as many steps half of it",
            {"step": 16000, "d_model": 512, "warmup_steps": 4000},
            "0.000349",
            6,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

c = given("c", domain="positive")
w, root = lift(warmup_steps), sqrt(d_model)

warmup.theorem(
    "rises",
    "Until warm-up ends it is a straight line in the step",
    claim(lr, "=", step / (w * sqrt(w) * root), where=le(step, w))
    .step(case(le(rising, falling), rising, falling) / root, "the definition")
    .because("step ≤ warmup_steps, and so are their powers 3/2: the line is the smaller one"),
)

warmup.theorem(
    "falls",
    "Once warm-up has ended it is 1/√(d_model·step)",
    claim(lr, "=", 1 / (sqrt(step) * root), where=lt(w, step))
    .step(case(le(rising, falling), rising, falling) / root, "the definition")
    .because("warmup_steps < step, and so are their powers 3/2: the line is the larger one"),
)

warmup.theorem(
    "meets",
    "At the end of warm-up both parts agree: the rate is 1/√(d_model·warmup_steps)",
    claim(warmup(w, d_model, warmup_steps), "=", 1 / sqrt(d_model * w))
    .step(w / (w * sqrt(w) * root), "the line at step = warmup_steps")
    .because("warmup_steps cancels; 1/√warmup_steps is the other part, too"),
)

warmup.theorem(
    "largest",
    "It is nowhere larger than at the end of warm-up",
    claim(lr, "<=", 1 / sqrt(d_model * w), where=le(step, w))
    .step(step / (w * sqrt(w) * root), "the line")
    .because("step/warmup_steps is at most 1"),
    claim(lr, "<=", 1 / sqrt(d_model * w), where=lt(w, step))
    .step(1 / (sqrt(step) * root), "past the line")
    .because("the root grows"),
)

warmup.theorem(
    "linear",
    "Within warm-up, c times as many steps make the rate c times as large",
    claim(warmup(c * step, d_model, warmup_steps), "=", c * lr, where=le(step, w) & le(c * step, w))
    .step(c * step / (w * sqrt(w) * root), "the line at c·step")
    .because("c times the line"),
    given=c,
)

warmup.theorem(
    "root",
    "After warm-up, c times as many steps divide it by √c",
    claim(warmup(c * step, d_model, warmup_steps), "=", lr / sqrt(c), where=lt(w, step) & lt(w, c * step))
    .step(1 / (sqrt(c * step) * root), "past the line, at c·step")
    .because("√(c·step) = √c·√step"),
    given=c,
)
