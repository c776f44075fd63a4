// Attention by hand: the queries, keys, values and mask of three tokens may be changed.
widget("attention", (root, values) => {
  const state = { ...values, mask: values.q.map(() => values.k.map(() => true)) };
  const results = make("div", { class: "results", "aria-live": "polite" });
  const number = (letter) => (x, i, j) => {
    const input = make("input", { type: "number", step: "any", value: x, "aria-label": `${letter} of token ${i}, entry ${j}` });
    input.addEventListener("input", () => {
      state[letter][i][j] = Number(input.value) || 0;
      update();
    });
    return input;
  };
  const permit = (x, i, j) => {
    const box = make("input", { type: "checkbox", checked: "", "aria-label": `query ${i} may attend to key ${j}` });
    box.addEventListener("change", () => {
      state.mask[i][j] = box.checked;
      update();
    });
    return box;
  };
  function update() {
    const { scores, weights, mixed } = attention(state);
    const shade = (x) => make("span", { class: "shade", style: `--share: ${x.toFixed(3)}` }, shown(x));
    results.replaceChildren(
      table("scores", scores, (x, i, j) => (state.mask[i][j] ? shown(x) : "hidden")),
      table("weights", weights, shade),
      table("z", mixed, (x) => shown(x)),
    );
  }
  const given = ["q", "k", "v"].map((letter) => table(letter, state[letter], number(letter)));
  root.replaceChildren(make("div", { class: "given" }, ...given, table("mask", state.mask, permit)), results);
  update();
});
