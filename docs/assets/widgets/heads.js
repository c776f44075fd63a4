// What the heads of a trained BERT look at: a sentence, a layer, a head and a word are chosen.
widget("heads", (root, { letters, start, sentences }) => {
  const sentence = choice("sentence ", sentences.map(({ tokens }) => tokens.slice(1, -1).join(" ").replace(" ' ", "'")), () => {
    const { tokens, word } = sentences[sentence.value];
    if (tokens[chosen] !== before) choose(tokens.indexOf(word));
    else update();
  });
  const layer = slider("layer", { min: 1, max: sentences[0].weights.length, value: start[0] }, update);
  const head = slider("head", { min: 1, max: sentences[0].weights[0].length, value: start[1] }, update);
  const line = make("div", { class: "tokens" });
  const result = said();
  let chosen, before;
  function choose(place) {
    chosen = place;
    before = sentences[sentence.value].tokens[place];
    update();
    line.children[place].focus();
  }
  function update() {
    const { tokens, weights } = sentences[sentence.value];
    const n = tokens.length;
    const row = weights[layer.value - 1][head.value - 1].slice(n * chosen, n * (chosen + 1));
    const shares = [...row].map((letter) => letters.indexOf(letter) / (letters.length - 1));
    const held = line.contains(document.activeElement);
    line.replaceChildren(...tokens.map((token, place) => {
      const bar = make("span", { class: "bar", style: `--share: ${shares[place].toFixed(3)}` });
      const one = button(token, () => choose(place));
      one.prepend(bar);
      one.append(make("small", {}, ` ${shown(shares[place], 2)}`));
      one.setAttribute("aria-pressed", place === chosen);
      return one;
    }));
    if (held) line.children[chosen].focus();
    const most = shares.indexOf(Math.max(...shares));
    result.textContent =
      `Layer ${layer.value}, head ${head.value}: “${tokens[chosen]}” gives most of its weight, ${shown(shares[most], 2)}, to ` +
      (most === chosen ? "itself." : `“${tokens[most]}”, number ${most + 1} of ${n}.`);
    root.dataset.shares = JSON.stringify(shares);
  }
  root.replaceChildren(panel(sentence.line, layer.line, head.line), line, result);
  chosen = sentences[0].tokens.indexOf(sentences[0].word);
  before = sentences[0].word;
  update();
});
