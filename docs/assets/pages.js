// What is wider than the page scrolls by itself; the keys reach it, too.
const SCROLLERS = ".statement, .given, .derivation, .equation, .md-typeset__scrollwrap, .highlight code, .drawings, .record li";

function reach() {
  for (const each of document.querySelectorAll(SCROLLERS)) {
    if (each.scrollWidth > each.clientWidth + 1) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
}

addEventListener("load", reach);
addEventListener("resize", reach);
addEventListener("toggle", reach, true);

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
