// Figures that answer: attention by hand on three tokens, and what the width of a key does to a softmax. Without scripts the page
// shows what stands inside of them.

const softmax = (scores, seen = scores.map(() => true)) => {
  const most = Math.max(...scores.filter((_, j) => seen[j]));
  const exponentials = scores.map((s, j) => (seen[j] ? Math.exp(s - most) : 0));
  const total = exponentials.reduce((a, b) => a + b, 0);
  return exponentials.map((e) => (total > 0 ? e / total : 0));
};

const attention = ({ q, k, v, mask }) => {
  const scores = q.map((row) => k.map((key) => row.reduce((sum, x, c) => sum + x * key[c], 0) / Math.sqrt(row.length)));
  const weights = scores.map((row, i) => softmax(row, mask[i]));
  const mixed = weights.map((row) => v[0].map((_, e) => row.reduce((sum, a, j) => sum + a * v[j][e], 0)));
  return { scores, weights, mixed };
};

const shown = (x) => (Object.is(x, -0) ? 0 : x).toFixed(3).replace("-0.000", "0.000").replace("-", "−");

function make(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

function table(title, rows, cell) {
  const body = rows.map((row, i) => make("tr", {}, ...row.map((x, j) => make("td", {}, cell(x, i, j)))));
  return make("table", { class: "numbers" }, make("caption", {}, title), make("tbody", {}, ...body));
}

function attendByHand(root, values) {
  const state = { ...values, mask: values.q.map(() => values.k.map(() => true)) };
  const results = make("div", { class: "results", "aria-live": "polite" });
  const number = (letter) => (x, i, j) => {
    const input = make("input", { type: "number", step: "any", value: x, "aria-label": `${letter} of token ${i}, entry ${j}` });
    input.addEventListener("input", () => {
      state[letter][i][j] = Number(input.value) || 0;
      draw();
    });
    return input;
  };
  const permit = (x, i, j) => {
    const box = make("input", { type: "checkbox", checked: "", "aria-label": `query ${i} may attend to key ${j}` });
    box.addEventListener("change", () => {
      state.mask[i][j] = box.checked;
      draw();
    });
    return box;
  };
  function draw() {
    const { scores, weights, mixed } = attention(state);
    const shade = (x) => make("span", { class: "shade", style: `--share: ${x.toFixed(3)}` }, shown(x));
    results.replaceChildren(
      table("scores", scores, (x, i, j) => (state.mask[i][j] ? shown(x) : "hidden")),
      table("weights", weights, shade),
      table("z", mixed, shown),
    );
  }
  const given = ["q", "k", "v"].map((letter) => table(letter, state[letter], number(letter)));
  root.replaceChildren(make("div", { class: "given" }, ...given, table("mask", state.mask, permit)), results);
  draw();
}

function saturate(root, { scores }) {
  const width = make("input", { type: "range", min: 0, max: 10, value: 6, id: "saturation-width" });
  const scaled = make("input", { type: "checkbox", id: "saturation-scaled" });
  const said = make("p", { class: "said", "aria-live": "polite" });
  const bars = make("div", { class: "bars", "aria-hidden": "true" });
  function draw() {
    const d = 2 ** Number(width.value);
    const a = softmax(scores.map((s) => s * (scaled.checked ? 1 : Math.sqrt(d))));
    const entropy = -a.reduce((sum, x) => sum + (x > 0 ? x * Math.log(x) : 0), 0);
    const slope = Math.sqrt(a.reduce((sum, x, i) => sum + a.reduce((s, y, j) => s + ((i === j ? x : 0) - x * y) ** 2, 0), 0));
    bars.replaceChildren(...a.map((x) => make("span", { style: `--share: ${x.toFixed(4)}` })));
    said.textContent =
      `d_k = ${d}: the largest of ${a.length} weights is ${shown(Math.max(...a))}, their entropy ${shown(entropy)} nats, ` +
      `the size of the softmax's derivative ${shown(slope)}.`;
    root.dataset.largest = Math.max(...a);
  }
  width.addEventListener("input", draw);
  scaled.addEventListener("change", draw);
  root.replaceChildren(
    make("p", {}, make("label", { for: "saturation-width" }, "width of a key, 1 to 1024 "), width),
    make("p", {}, scaled, make("label", { for: "saturation-scaled" }, " divide by √d_k")),
    bars,
    said,
  );
  draw();
}

const WIDGETS = { attention: attendByHand, saturation: saturate };
for (const root of document.querySelectorAll("[data-widget]")) WIDGETS[root.dataset.widget](root, JSON.parse(root.dataset.values));
