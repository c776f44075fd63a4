// Beam search as a tree: what a search of some width keeps, drops and never looks at.
widget("beams", (root, { steps, end, widest, law }) => {
  const width = slider("width of the beam", { min: 1, max: widest, value: 2 }, update);
  const result = said();
  const tree = root.querySelector("svg");
  const isDone = ({ text }) => text.at(-1) === end;
  const name = ({ text }) => text.join(" ");
  const written = (beam) => (isDone(beam) ? beam.text.slice(0, -1).join("") : `${beam.text.join("")} …`);
  // The beams that are kept after each step, the best first; a finished one competes as it is.
  function search(k) {
    let beams = [{ text: [], p: 0 }];
    return Array.from({ length: steps }, () => {
      const candidates = beams.flatMap((beam) =>
        isDone(beam) ? [beam] : law[name(beam)].map(([word, p]) => ({ text: [...beam.text, word], p: beam.p + p })));
      beams = candidates.sort((a, b) => b.p - a.p).slice(0, k);
      return beams;
    });
  }
  const greedy = search(1).flat();
  function update() {
    const found = search(Number(width.value));
    const kept = new Set(["", ...found.flat().map(name)]);
    const [best] = found.at(-1);
    for (const node of tree.querySelectorAll("[data-text]")) {
      const text = node.dataset.text;
      const before = text.split(" ").slice(0, -1).join(" ");
      const marks = [kept.has(text) ? "kept" : kept.has(before) ? "dropped" : "unseen"];
      if (greedy.map(name).includes(text)) marks.push("greedy");
      if (text === name(best)) marks.push("best");
      node.setAttribute("class", marks.join(" "));
    }
    const listed = found.map((beams) => beams.map((beam) => `“${written(beam)}” (${shown(Math.exp(beam.p))})`).join(", "));
    tree.setAttribute("aria-label", `Beam search of width ${width.value}: kept are ${listed.join("; then ")}.`);
    const told = (beam) => `“${written(beam)}” with ${shown(Math.exp(beam.p))}`;
    result.textContent = `Width ${width.value} finds ${told(best)}; greedily it is ${told(greedy.at(-1))}.`;
    root.dataset.found = JSON.stringify(found.at(-1).map((beam) => [name(beam), beam.p]));
  }
  root.prepend(panel(width.line));
  root.append(result);
  update();
});
