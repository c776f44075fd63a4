// What a reader would miss on the page that is open, each a line: what is cut, or scrolls where no key reaches; letters too small
// to read; links told by their colour alone. Everything that is folded is open, every tab is shown.
() => {
  const faults = new Set();
  const place = (e) => {
    const near = e.closest("[id]");
    return `${e.localName}${[...e.classList].map((name) => "." + name).join("")}${near ? ` in #${near.id}` : ""}`;
  };
  const seen = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true });

  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) faults.add(`the page scrolls sideways, ${page.scrollWidth} in ${page.clientWidth} px`);
  for (const e of document.querySelectorAll(":is(article, footer) :not(math *, svg *)")) {
    const { overflowX, overflowY } = getComputedStyle(e);
    if (overflowX === "visible" || !seen(e)) continue;
    const [across, down] = [e.scrollWidth > e.clientWidth + 1, e.scrollHeight > e.clientHeight + 1];
    if ((across && /hidden|clip/.test(overflowX)) || (down && /hidden|clip/.test(overflowY))) faults.add(`cut: ${place(e)}`);
    if (!across || !/auto|scroll/.test(overflowX)) continue;
    if (e.tabIndex < 0) faults.add(`a scroller that no key reaches: ${place(e)}`);
    else if (!e.role || !(e.ariaLabel ?? e.getAttribute("aria-labelledby"))) faults.add(`a scroller without a name: ${place(e)}`);
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const e = text.parentElement;
    if (!text.data.trim() || !e.checkVisibility()) continue;
    const { a, b } = e.getScreenCTM?.() ?? { a: 1, b: 0 };
    const size = parseFloat(getComputedStyle(e).fontSize) * Math.hypot(a, b);
    if (size < 7) faults.add(`a letter of ${size.toFixed(1)} px, "${text.data.trim()}": ${place(e)}`);
  }
  for (const link of document.querySelectorAll("article a[href]:not(.headerlink)")) {
    if (!link.textContent.trim() || !seen(link)) continue;
    const isTold = (e) => {
      const style = getComputedStyle(e);
      return style.textDecorationLine.includes("underline") || parseFloat(style.borderTopWidth) > 0;
    };
    if (![link, ...link.querySelectorAll("*")].some(isTold)) faults.add(`told by colour alone: ${place(link)}, "${link.textContent.trim()}"`);
  }
  return [...faults];
};
