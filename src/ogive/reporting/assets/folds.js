// Sections that open when they are asked for: by a link, by the browser's search, on paper.

function unfold(target) {
  const folds = target ? [...target.querySelectorAll(":scope > details")] : [];
  for (let one = target?.closest("details"); one; one = one.parentElement.closest("details")) folds.push(one);
  for (const one of folds) one.open = true;
}

// Addresses: #section, #item=scale/name and #model=scale/name. Whoever shows an item or a model
// returns the place where it is, or null where there is none of that name.
const routes = {};

function addressFor(kind, scale, name) {
  return `#${kind}=${encodeURIComponent(scale)}/${encodeURIComponent(name)}`;
}

function keepAddress(kind, scale, name) {
  setAddress(addressFor(kind, scale, name));
}

// The frame of a notebook has no address of its own, and must not touch that of the notebook.
function setAddress(address) {
  if (window.location.protocol !== "about:") window.history.replaceState(null, "", address);
}

// As by the hash, but at once: what is asked next finds it there.
function goTo(kind, scale, name) {
  window.history.pushState(null, "", addressFor(kind, scale, name));
  followAddress();
}

function targetOf(hash) {
  const [, kind, scale, name] = hash.match(/^#(item|model)=([^/]*)\/(.*)$/) ?? [];
  if (kind) return routes[kind]?.(decodeURIComponent(scale), decodeURIComponent(name)) ?? null;
  return byId(decodeURIComponent(hash.slice(1)));
}

// Open what the address names, and go there.
function followAddress() {
  const target = targetOf(window.location.hash);
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
  for (const one of folds) {
    one.firstElementChild.addEventListener("click", () => { // before it opens or closes
      if (!one.open) setAddress(`#${one.parentElement.id}`);
    });
  }
  window.addEventListener("hashchange", followAddress);
  followAddress();
}
