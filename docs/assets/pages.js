// What is wider than its place scrolls by itself. The keys reach it, and a screen reader says what it is.
const KINDS = { TABLE: "Table", CODE: "Code", MATH: "Formula", SVG: "Drawing" };

function kind(scroller) {
  return KINDS[(scroller.matches("code") ? scroller : scroller.querySelector("table, math, svg"))?.tagName.toUpperCase()] ?? "Text";
}

function reach(inside) {
  for (const each of inside.querySelectorAll(":is(article, details) :not(math *, svg *)")) {
    if (!/auto|scroll/.test(getComputedStyle(each).overflowX)) continue;
    if (each.scrollWidth > each.clientWidth + 1) {
      each.tabIndex = 0;
      each.role = "group";
      each.ariaLabel = `${kind(each)}, scrolls sideways`;
    } else for (const name of ["tabindex", "role", "aria-label"]) each.removeAttribute(name);
  }
}

addEventListener("load", () => {
  reach(document);
  // A button that copies code is no landmark of the page.
  for (const each of document.querySelectorAll(".md-code__nav")) each.role = "none";
});
addEventListener("resize", () => reach(document));
addEventListener("change", () => reach(document)); // another tab
addEventListener("toggle", (event) => reach(event.target), true);

// On a phone, what is for reference is closed, and derivations are; where there is room the former has no line to close it by.
const phone = matchMedia("(max-width: 44em)");
function fold() {
  for (const each of document.querySelectorAll("details.reference, details.proof[open]"))
    each.open = !phone.matches || each.querySelector(":target") !== null;
}
fold();
phone.addEventListener("change", fold);
