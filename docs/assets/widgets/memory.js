// What cells of one unit keep of a first input: a plain one, an LSTM and a GRU.
widget("memory", (root, { steps, cells }) => {
  const sigmoid = (a) => 1 / (1 + Math.exp(-a));
  const gate = (w, name, x) => (w[`W_${name}x`] ?? 0) * x + (w[`b_${name}`] ?? 0); // what is not named is 0
  // The next state from the one before and what arrives.
  const step = {
    RNN: (h, x) => Math.tanh(Number(weight.value) * h + cells.rnn.W_xh * x),
    LSTM: (s, x) => {
      const w = { ...cells.lstm, b_f: Number(forget.value) };
      return Math.tanh(gate(w, "g", x)) * sigmoid(gate(w, "i", x)) + s * sigmoid(gate(w, "f", x));
    },
    GRU: (h, x) => {
      const w = { ...cells.gru, b_z: Number(keep.value) };
      const z = sigmoid(gate(w, "z", x));
      return (1 - z) * Math.tanh(gate(w, "n", x)) + z * h;
    },
  };
  const weight = slider("RNN: recurrent weight", { min: 0, max: 1.5, step: 0.05, value: cells.rnn.W_hh }, update);
  const forget = slider("LSTM: bias of the forget gate", { min: -2, max: 6, step: 0.5, value: cells.lstm.b_f }, update);
  const keep = slider("GRU: bias of the update gate", { min: -2, max: 6, step: 0.5, value: cells.gru.b_z }, update);
  const view = choice("show ", ["the state", "what is left of a small change of the first state"], update);
  const picture = make("div", {});
  const result = said();
  // The states after steps 1, 2, …: the first element is 1, the others 0.
  function states(kind, change = 0) {
    const found = [step[kind](0, 1) + change];
    while (found.length < steps) found.push(step[kind](found.at(-1), 0));
    return found;
  }
  function left(kind) {
    const [more, less] = [states(kind, 1e-6), states(kind, -1e-6)];
    return more.map((state, t) => (state - less[t]) / 2e-6);
  }
  function update() {
    const dashes = ["", "7 4", "2 3"];
    const curves = Object.keys(step).map((name, place) => ({ name, dash: dashes[place], values: view.value === "0" ? states(name) : left(name) }));
    picture.replaceChildren(plot(`${view.selectedOptions[0].text}, by the step`, curves, { least: 0, most: 1, first: 1, below: "step" }));
    const ends = curves.map(({ name, values }) => `${name} ${shown(values.at(-1))}`).join(", ");
    result.textContent = `After ${steps} steps, ${view.selectedOptions[0].text}: ${ends}.`;
    root.dataset.curves = JSON.stringify(curves.map(({ values }) => values));
  }
  root.replaceChildren(panel(weight.line, forget.line, keep.line, view.line), picture, result);
  update();
});
