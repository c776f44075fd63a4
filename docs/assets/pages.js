// What is wider than its place scrolls by itself. The keys reach it, and a screen reader says what it is.
const KINDS = { TABLE: "Table", CODE: "Code", MATH: "Formula", SVG: "Drawing" };

function kind(scroller) {
  return KINDS[(scroller.matches("code") ? scroller : scroller.querySelector("table, math, svg"))?.tagName.toUpperCase()] ?? "Text";
}

const names = new Map(); // numbered: axe takes each for a landmark, which needs a name of its own
function reach(scroller) {
  if (scroller.scrollWidth > scroller.clientWidth) {
    scroller.tabIndex = 0;
    scroller.role = "group";
    scroller.ariaLabel = names.get(scroller);
  } else for (const name of ["tabindex", "role", "aria-label"]) scroller.removeAttribute(name);
}
const sizes = new ResizeObserver((seen) => seen.forEach(({ target }) => reach(target)));
document.fonts.addEventListener("loadingdone", () => [...names.keys()].forEach(reach)); // what is in them is wider now

addEventListener("load", () => {
  for (const each of document.querySelectorAll("article :not(math *, svg *)")) {
    if (/auto|scroll/.test(getComputedStyle(each).overflowX)) {
      names.set(each, `${kind(each)} ${names.size + 1}, scrolls sideways`);
      sizes.observe(each);
    }
  }
  // A button that copies code is no landmark of the page.
  for (const each of document.querySelectorAll(".md-code__nav")) each.role = "none";
});

// On a phone, what is for reference is closed, and derivations are; where there is room the former has no line to close it by.
const phone = matchMedia("(max-width: 44em)");
function fold() {
  for (const each of document.querySelectorAll("details.reference, details.proof[open]"))
    each.open = !phone.matches || each.querySelector(":target") !== null;
}
fold();
phone.addEventListener("change", fold);

// Paper is light, nothing can be unfolded on it, and what is wider does not scroll: it is printed smaller.
const LETTERS_IN_A_LINE = 58;
let folded = [], scheme;

addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll(".equation math")) {
    const letters = each.getBoundingClientRect().width / parseFloat(getComputedStyle(each).fontSize);
    each.style.setProperty("--shrunk", Math.min(1, LETTERS_IN_A_LINE / letters));
  }
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const each of folded) each.open = true;
  scheme = document.body.dataset.mdColorScheme;
  document.body.dataset.mdColorScheme = "default";
});
addEventListener("afterprint", () => {
  for (const each of folded) each.open = false;
  document.body.dataset.mdColorScheme = scheme;
});
