// Sections that open when they are asked for: by a link, by the browser's search, on paper.

function unfold(target) {
  const folds = target ? [...target.querySelectorAll(":scope > details")] : [];
  for (let one = target?.closest("details"); one; one = one.parentElement.closest("details")) folds.push(one);
  for (const one of folds) one.open = true;
}

// Open what the address names, and go there.
function followAddress() {
  const target = byId(decodeURIComponent(window.location.hash.slice(1)));
  if (!target) return;
  unfold(target);
  target.scrollIntoView();
}

function startFolds() {
  const folds = [...document.querySelectorAll("main details")];
  let closed = null; // while printed: those to close again
  const onPaper = (printed) => {
    if (printed === (closed !== null)) return;
    closed = printed ? folds.filter((one) => !one.open) : closed.forEach((one) => { one.open = false; }) ?? null;
    if (printed) for (const one of folds) one.open = true;
    for (const place of document.querySelectorAll(".table")) place.onPaper?.(printed);
  };
  window.addEventListener("beforeprint", () => onPaper(true));
  window.addEventListener("afterprint", () => onPaper(false));
  window.matchMedia("print").addEventListener("change", (event) => onPaper(event.matches));
  window.addEventListener("hashchange", followAddress);
  followAddress();
}
