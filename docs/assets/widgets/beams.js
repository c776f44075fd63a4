// Beam search as a tree: what a search of some width keeps, drops and never looks at.
widget("beams", (root, { start, steps, law }) => {
  const width = slider("width of the beam", { min: 1, max: 4, value: 2 }, update);
  const result = said();
  const tree = root.querySelector("svg");
  const name = ({ text }) => text.join(" ");
  // The beams that are kept after each step, the likeliest first.
  function search(k) {
    let beams = [{ text: [], p: 0 }];
    return Array.from({ length: steps }, () => {
      const candidates = beams.flatMap(({ text, p }) =>
        Object.entries(law[text.at(-1) ?? start]).map(([word, share]) => ({ text: [...text, word], p: p + Math.log(share) })));
      beams = candidates.sort((a, b) => b.p - a.p).slice(0, k);
      return beams;
    });
  }
  const greedy = search(1).map(([beam]) => name(beam));
  function update() {
    const found = search(Number(width.value));
    const kept = new Set(["", ...found.flat().map(name)]);
    const [best] = found.at(-1);
    for (const node of tree.querySelectorAll("[data-text]")) {
      const text = node.dataset.text;
      const looked = kept.has(text.split(" ").slice(0, -1).join(" "));
      const marks = [kept.has(text) ? "kept" : looked ? "dropped" : "unseen"];
      if (greedy.includes(text)) marks.push("greedy");
      if (text === name(best)) marks.push("best");
      node.setAttribute("class", marks.join(" "));
    }
    const listed = found.map((beams) => beams.map((beam) => `“${name(beam)}” (${shown(Math.exp(beam.p))})`).join(", "));
    tree.setAttribute("aria-label", `Beam search of width ${width.value}: kept are ${listed.join("; then ")}.`);
    result.textContent =
      `Width ${width.value} finds “${name(best)}” with ${shown(Math.exp(best.p))}; greedily it is “${greedy.at(-1)}”.`;
    root.dataset.found = JSON.stringify(found.at(-1).map(({ text, p }) => [name({ text }), p]));
  }
  root.prepend(panel(width.line));
  root.append(result);
  update();
});
