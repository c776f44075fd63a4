// Positions as hands of clocks, and the inner product of two positions by their distance.
widget("clocks", (root, { hands, base, positions }) => {
  const at = slider("position", { min: 0, max: positions, value: 3 }, update);
  const distance = slider("distance", { min: 0, max: positions - 1, value: 5 }, update);
  const sines = tick("sines only", update);
  const pictures = make("div", {});
  const result = said();
  const angle = (t, i) => t / base ** (i / hands);
  const vector = (t) => Array.from({ length: hands }, (_, i) => [Math.sin(angle(t, i)), sines.checked ? 0 : Math.cos(angle(t, i))]).flat();
  const product = (t, by) => dot(vector(t), vector(t + by));

  // A hand stands at (cos, sin); of sines alone only its height is left.
  function clock(t, i, x, y) {
    const [r, up, right] = [30, Math.sin(angle(t, i)), Math.cos(angle(t, i))];
    const hand = sines.checked ? `M${x} ${y}V${y - r * up}` : `M${x} ${y}L${x + r * right} ${y - r * up}`;
    const level = sines.checked ? [draw("path", { class: "grid", d: `M${x - r} ${y - r * up}H${x + r}` })] : [];
    return [draw("circle", { class: "rim", cx: x, cy: y, r }), ...level, draw("path", { class: "hand", d: hand })];
  }
  function update() {
    const [t, by] = [Number(at.value), Number(distance.value)];
    const parts = [t, t + by].flatMap((position, row) => [
      draw("text", { x: 2, y: 56 + 72 * row }, `position ${position}`),
      ...Array.from({ length: hands }, (_, i) => clock(position, i, 112 + 70 * i, 50 + 72 * row)).flat(),
    ]);
    const turns = Array.from({ length: hands }, (_, i) => `hand ${i}`);
    parts.push(...turns.map((name, i) => draw("text", { x: 112 + 70 * i, y: 12, "text-anchor": "middle" }, name)));
    const both = `Hands of position ${t} and of position ${t + by}`;
    const size = `0 0 ${112 + 70 * hands - 34} 160`;
    const curve = (name, from, dash) => ({ name, dash, values: Array.from({ length: positions }, (_, i) => product(from, i)) });
    pictures.replaceChildren(
      draw("svg", { class: "plot", role: "img", "aria-label": both, viewBox: size }, ...parts),
      plot("The inner product by the distance", [curve(`from ${t}`, t), curve("from 0", 0, "5 4")], {
        least: -hands / 2, most: hands, below: "distance", mark: by,
      }),
    );
    const [here, zero] = [product(t, by), product(0, by)];
    result.textContent =
      `The inner product of positions ${t} and ${t + by} is ${shown(here)}; that of 0 and ${by} is ${shown(zero)}: ` +
      (Math.abs(here - zero) < 1e-9 ? "only the distance counts." : "it depends on where one stands.");
    Object.assign(root.dataset, { here, zero });
  }
  root.replaceChildren(panel(at.line, distance.line, sines.line), pictures, result);
  update();
});
