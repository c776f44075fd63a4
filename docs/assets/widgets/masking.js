// Draws of masked language modelling on a sentence, gathered beside the law.
widget("masking", (root, { tokens, words, selected, shares }) => {
  const random = generator(1);
  const names = Object.keys(shares);
  const ordinary = tokens.filter((token) => !special(token)).length;
  const line = make("div", { class: "tokens" });
  const results = make("div", { class: "results" });
  const result = said();
  let counts, draws;
  function special(token) {
    return token === "[CLS]" || token === "[SEP]";
  }
  // What becomes of each token: nothing, or its outcome and what stands there now.
  function corrupt() {
    draws += 1;
    return tokens.map((token) => {
      if (special(token) || random() >= selected) return { token };
      let [place, part] = [0, random()];
      while (place < names.length - 1 && part >= shares[names[place]]) part -= shares[names[place++]];
      counts[place] += 1;
      return { outcome: names[place], token, now: ["[MASK]", words[Math.floor(random() * words.length)], token][place] };
    });
  }
  function again(times) {
    let last = [];
    for (let i = 0; i < times; i++) last = corrupt();
    update(last);
  }
  function reset() {
    [counts, draws] = [names.map(() => 0), 0];
    again(1);
  }
  function update(last) {
    line.replaceChildren(...last.map(({ token, outcome, now }) =>
      outcome
        ? make("span", { class: "selected" }, now, make("small", {}, outcome === names[2] ? " unchanged" : ` for ${token}`))
        : make("span", {}, token)));
    const total = counts.reduce((a, b) => a + b, 0);
    const rows = names.map((name, place) => [`${shown(100 * shares[name], 0)} %`, total ? `${shown((100 * counts[place]) / total, 1)} %` : "–"]);
    rows.unshift([`${shown(100 * selected, 0)} %`, `${shown((100 * total) / (draws * ordinary), 1)} %`]);
    const heads = ["selected, of all ordinary tokens", ...names.map((name) => `${name}, of the selected`)];
    results.replaceChildren(table("by the law, and counted", rows, (cell) => cell, heads));
    result.textContent = `Draws: ${draws}, of ${ordinary} ordinary tokens each. Selected so far: ${total}.`;
    Object.assign(root.dataset, { counts: JSON.stringify(counts), draws });
  }
  const buttons = [button("draw", () => again(1)), button("draw a hundred times", () => again(100)), button("begin anew", reset)];
  root.replaceChildren(panel(make("p", { class: "control" }, ...buttons)), line, result, results);
  reset();
});
