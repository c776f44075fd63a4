// What is wider than its place scrolls by itself. The keys reach it, and a screen reader says what it is.
const KINDS = { TABLE: "Table", CODE: "Code", MATH: "Formula", SVG: "Drawing" };

function kind(scroller) {
  return KINDS[(scroller.matches("code") ? scroller : scroller.querySelector("table, math, svg"))?.tagName.toUpperCase()] ?? "Text";
}

function reach() {
  for (const each of document.querySelectorAll("article :not(math *, svg *)")) {
    if (!/auto|scroll/.test(getComputedStyle(each).overflowX)) continue;
    if (each.scrollWidth > each.clientWidth + 1) {
      each.tabIndex = 0;
      each.role = "group";
      each.ariaLabel = `${kind(each)}, scrolls sideways`;
    } else for (const name of ["tabindex", "role", "aria-label"]) each.removeAttribute(name);
  }
  // A button that copies code is no landmark of the page.
  for (const each of document.querySelectorAll(".md-code__nav")) each.role = "none";
}

for (const event of ["load", "resize", "change"]) addEventListener(event, reach);
addEventListener("toggle", reach, true);
