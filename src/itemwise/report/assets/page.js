// The start: colours, tables, explorer.

const THEMES = { system: "as the system", light: "light", dark: "dark" };

function remembered() {
  try {
    return localStorage.getItem("itemwise-colours");
  } catch {
    return null; // a browser may forbid it to files
  }
}

function remember(theme) {
  try {
    localStorage.setItem("itemwise-colours", theme);
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

function start() {
  const explorer = DATA.scales.length ? makeExplorer(DATA.scales) : null;
  if (explorer) {
    makeModels(explorer.scales);
    makeFixes(explorer.scales);
  }
  for (const place of document.querySelectorAll("[data-table]")) {
    makeTable(place, DATA.tables[place.dataset.table]);
  }
  for (const pane of document.querySelectorAll(".pane")) watchWidth(pane, pane.dataset.name);
  startFolds();
  startThemes(() => explorer && drawChart(explorer.chart));
  performance.mark("itemwise-ready");
  document.documentElement.dataset.ready = "yes";
}

// A report holds its data; `itemwise view` asks its server for them.
if (DATA.live) startLive();
else start();
