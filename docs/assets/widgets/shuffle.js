// The words of a sentence in another order, and what self-attention makes of each.
widget("shuffle", (root, { words, x, W_q, W_k, W_v, positions }) => {
  const ways = ["without positions", "with sinusoidal positions", "causal, without positions"];
  const way = choice("attention ", ways, update);
  const random = generator(1);
  const first = words.map((_, i) => i);
  let order = first;
  const results = make("div", { class: "results" });
  const result = said();
  function shuffle() {
    const before = order.join();
    while (order.join() === before) order = first.map((i) => [random(), i]).sort((a, b) => a[0] - b[0]).map(([, i]) => i);
    update();
  }
  function reset() {
    order = first;
    update();
  }
  // The outputs of the words in an order, row by row.
  function outputs(order) {
    const rows = order.map((word, place) => x[word].map((entry, c) => entry + (way.value === "1" ? positions[place][c] : 0)));
    const mask = order.map((_, i) => order.map((_, j) => way.value !== "2" || j <= i));
    return attention({ q: times(rows, W_q), k: times(rows, W_k), v: times(rows, W_v), mask }).mixed;
  }
  function update() {
    const [now, before] = [outputs(order), outputs(first)];
    const same = order.map((word, place) => now[place].every((entry, c) => Math.abs(entry - before[word][c]) < 1e-9));
    const rows = now.map((row, place) => [...row.map((entry) => shown(entry)), same[place] ? "as at first" : "other"]);
    results.replaceChildren(table("word by word, its output", rows, (cell) => cell, order.map((word) => words[word])));
    const kept = same.filter(Boolean).length;
    result.textContent =
      `“${order.map((word) => words[word]).join(" ")}”, ${ways[way.value]}: ` +
      (kept === words.length ? "every word has the output that it had at first." : `${words.length - kept} of ${words.length} words have another output.`);
    Object.assign(root.dataset, { order: JSON.stringify(order), outputs: JSON.stringify(now) });
  }
  root.replaceChildren(panel(way.line, make("p", { class: "control" }, button("shuffle", shuffle), button("in order", reset))), results, result);
  update();
});
