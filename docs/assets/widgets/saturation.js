// What the width of a key does to a softmax, with and without the division by √d_k.
widget("saturation", (root, { scores }) => {
  const width = slider("width of a key", { min: 0, max: 10, value: 6 }, update, (power) => 2 ** power);
  const scaled = tick("divide by √d_k", update);
  const result = said();
  const bars = make("div", { class: "bars", "aria-hidden": "true" });
  function update() {
    const d = 2 ** Number(width.value);
    const a = softmax(scores.map((s) => s * (scaled.checked ? 1 : Math.sqrt(d))));
    const entropy = -a.reduce((sum, x) => sum + (x > 0 ? x * Math.log(x) : 0), 0);
    const slope = Math.sqrt(a.reduce((sum, x, i) => sum + a.reduce((s, y, j) => s + ((i === j ? x : 0) - x * y) ** 2, 0), 0));
    bars.replaceChildren(...a.map((x) => make("span", { style: `--share: ${x.toFixed(4)}` })));
    result.textContent =
      `d_k = ${d}: the largest of ${a.length} weights is ${shown(Math.max(...a))}, their entropy ${shown(entropy)} nats, ` +
      `the size of the softmax's derivative ${shown(slope)}.`;
    root.dataset.largest = Math.max(...a);
  }
  root.replaceChildren(panel(width.line, scaled.line), bars, result);
  update();
});
