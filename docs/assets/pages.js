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
