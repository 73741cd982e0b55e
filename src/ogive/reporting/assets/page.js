// The start: colours, tables, explorer.

const THEMES = { system: "as the system", light: "light", dark: "dark" };

function remembered() {
  try {
    return localStorage.getItem("ogive-colours");
  } catch {
    return null; // a browser may forbid it to files
  }
}

function remember(theme) {
  try {
    localStorage.setItem("ogive-colours", theme);
  } catch {
    // then it holds for this visit
  }
}

function useTheme(theme) {
  const button = byId("theme");
  document.documentElement.dataset.theme = theme === "system" ? "" : theme;
  button.textContent = `Colours: ${theme}`;
  button.setAttribute("aria-label", `Colours: ${THEMES[theme]}`);
  button.value = theme;
}

function startThemes(redraw) {
  const saved = remembered();
  useTheme(saved in THEMES ? saved : "system");
  byId("theme").addEventListener("click", () => {
    const names = Object.keys(THEMES);
    const next = names[(names.indexOf(byId("theme").value) + 1) % names.length];
    remember(next);
    useTheme(next);
    redraw();
  });
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    window.matchMedia(query).addEventListener("change", redraw);
  }
}

const PIXELS = 96 / 144; // of the screen for one of a picture
const LEGIBLE = 0.75; // of its size; below, the words of a figure are too small to read
const ON_PAPER = 0.68; // the same on paper, which is held closer

// Where a figure would be too small to read, the section begins with its tables, and says so.
function watchFigure(figure) {
  const pane = figure.querySelector(".pane");
  const picture = pane.firstElementChild;
  watchWidth(pane, pane.dataset.name);
  const instead = figure.closest(".body")?.querySelector(".table");
  const show = element("button", { type: "button", textContent: "Show the figure" });
  show.setAttribute("aria-label", `Show the figure: ${picture.getAttribute("aria-label") ?? picture.alt}`);
  show.addEventListener("click", () => figure.classList.add("asked"));
  pane.before(element("p", { className: "narrow about" }, ["Wide figure; it can be shown and moved sideways. ", show]));
  const look = () => {
    const whole = Number(picture.getAttribute("width") ?? picture.naturalWidth * PIXELS);
    const small = figure.parentElement.clientWidth < LEGIBLE * whole;
    figure.classList.toggle("wide", small);
    const height = Number(picture.getAttribute("height") ?? picture.naturalHeight * PIXELS);
    figure.style.setProperty("--legible", `${Math.round(ON_PAPER * height)}px`);
    figure.classList.toggle("replaced", small && Boolean(instead));
  };
  picture.addEventListener("load", look);
  new ResizeObserver(look).observe(figure.parentElement);
}

function start() {
  const scales = DATA.scales.map(preparedScale);
  makeModels(scales); // first: whatever names a model then leads to its page
  const explorer = scales.length ? makeExplorer(scales) : null;
  makeFixes(scales);
  for (const place of document.querySelectorAll("[data-table]")) {
    makeTable(place, DATA.tables[place.dataset.table]);
  }
  for (const figure of document.querySelectorAll(".figures figure")) watchFigure(figure);
  startFolds();
  startThemes(() => explorer && drawChart(explorer.chart));
  performance.mark("ogive-ready");
  document.documentElement.dataset.ready = "yes";
}

// A report holds its data; `ogive view` asks its server for them.
if (DATA.live) startLive();
else start();
