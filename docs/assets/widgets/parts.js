// What figures that answer are made of. The file of a figure calls widget() with its name; without scripts the page shows what
// stands inside of the figure.

function widget(name, build) {
  for (const root of document.querySelectorAll(`[data-widget="${name}"]`)) build(root, JSON.parse(root.dataset.values));
}

// Numbers ---------------------------------------------------------------------------------------------------------------------

const softmax = (scores, seen = scores.map(() => true)) => {
  const most = Math.max(...scores.filter((_, j) => seen[j]));
  const exponentials = scores.map((s, j) => (seen[j] ? Math.exp(s - most) : 0));
  const total = exponentials.reduce((a, b) => a + b, 0);
  return exponentials.map((e) => (total > 0 ? e / total : 0));
};

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

const times = (rows, matrix) => rows.map((row) => matrix[0].map((_, c) => dot(row, matrix.map((line) => line[c]))));

const attention = ({ q, k, v, mask }) => {
  const scores = q.map((row) => k.map((key) => dot(row, key) / Math.sqrt(row.length)));
  const weights = scores.map((row, i) => softmax(row, mask[i]));
  return { scores, weights, mixed: times(weights, v) };
};

// Random numbers below 1, the same for the same seed (mulberry32).
const generator = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), seed | 1);
  t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};

const shown = (x, digits = 3) => (Math.abs(x) < 0.5 / 10 ** digits ? 0 : x).toFixed(digits).replace("-", "−");

// Elements --------------------------------------------------------------------------------------------------------------------

function fill(made, attributes, inside) {
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

const make = (name, attributes = {}, ...inside) => fill(document.createElement(name), attributes, inside);
const draw = (name, attributes = {}, ...inside) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, inside);

function table(title, rows, cell, heads = []) {
  const body = rows.map((row, i) => {
    const head = heads.length ? [make("th", { scope: "row" }, heads[i])] : [];
    return make("tr", {}, ...head, ...row.map((x, j) => make("td", {}, cell(x, i, j))));
  });
  return make("table", { class: "numbers" }, make("caption", {}, title), make("tbody", {}, ...body));
}

// What has changed, in words: read aloud as it changes.
const said = () => make("p", { class: "said", role: "status" });

// Controls: each is the input element; its `line` is what stands in the page, the label with it.
let controls = 0;

function labelled(text, input, after = "") {
  input.id = `control-${++controls}`;
  const label = make("label", { for: input.id }, text);
  input.line = make("p", { class: "control" }, ...(input.type === "checkbox" ? [input, label] : [label, input, after]));
  return input;
}

function slider(text, range, change, told = String) {
  const input = make("input", { type: "range", step: 1, ...range });
  const value = make("span", { class: "value", "aria-hidden": true });
  labelled(text, input, value);
  const tell = () => {
    value.textContent = told(input.value);
    input.setAttribute("aria-valuetext", value.textContent);
  };
  input.addEventListener("input", tell);
  input.addEventListener("input", change);
  tell();
  return input;
}

function tick(text, change) {
  const input = labelled(text, make("input", { type: "checkbox" }));
  input.addEventListener("change", change);
  return input;
}

function choice(text, names, change) {
  const options = names.map((name, place) => make("option", { value: place }, name));
  const input = labelled(text, make("select", {}, ...options));
  input.addEventListener("change", change);
  return input;
}

function button(text, press) {
  const made = make("button", { type: "button", class: "press" }, text);
  made.addEventListener("click", press);
  return made;
}

const panel = (...lines) => make("div", { class: "panel" }, ...lines);

// Curves over 0, 1, 2, …: each with its name, its values, and its dashes, by which it is told without its colour.
function plot(label, curves, { least, most, first = 0, below, mark }) {
  const [wide, high, left, top, under] = [340, 190, 34, 22, 32];
  const last = curves[0].values.length - 1;
  const x = (i) => left + ((wide - left - 6) * i) / last;
  const y = (value) => top + ((high - top - under) * (most - value)) / (most - least);
  const text = (at, up, words, anchor = "middle") => draw("text", { x: at, y: up, "text-anchor": anchor }, words);
  const parts = [least, (least + most) / 2, most].flatMap((value) => [
    draw("path", { class: "grid", d: `M${left} ${y(value)}H${wide - 6}` }),
    text(left - 5, y(value) + 4, shown(value, 1), "end"),
  ]);
  for (let i = 0; i <= last; i += 10) parts.push(text(x(i), high - under + 14, i + first));
  parts.push(text((left + wide) / 2, high - 4, below));
  curves.forEach(({ name, values, dash = "" }, place) => {
    const at = left + place * 105;
    const look = { class: `curve curve-${place + 1}`, "stroke-dasharray": dash };
    parts.push(draw("path", { ...look, d: `M${at} 9h22` }), text(at + 27, 13, name, "start"));
    parts.push(draw("path", { ...look, d: values.map((value, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join("") }));
  });
  if (mark !== undefined) parts.push(draw("circle", { class: "mark", cx: x(mark), cy: y(curves[0].values[mark]), r: 4 }));
  return draw("svg", { class: "plot", role: "img", "aria-label": label, viewBox: `0 0 ${wide} ${high}` }, ...parts);
}
