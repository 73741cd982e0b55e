// `ogive view`: the same explorer, with data that its server reads, calibrates and reads again.

const KEY = "ogive-token";
const SECOND = 1000;
const MOST_KNOWN = 500; // items whose responses are kept
const live = { token: null, version: 0, compared: 0, explorer: null, models: null, gone: 0 };

async function ask(path, options = {}) {
  const headers = { "X-Ogive-Token": live.token, ...options.headers };
  const answer = await fetch(path, { ...options, headers, cache: "no-store" });
  const found = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(found.detail), { status: answer.status });
  return found;
}

// What the explorer asks of the server about one scale.
function remoteSource(scale) {
  const known = new Map();
  const asked = { version: live.version, scale };
  const query = (more) => new URLSearchParams({ ...asked, ...more });
  return {
    known: (row) => known.get(row),
    search: (words) => ask(`search?${query({ words })}`).then((found) => found.rows).catch(() => []),
    respondent: (place) => ask(`respondent?${query({ place })}`).catch(() => ({ responses: [], pairs: null })),
    suspects: () => ask(`suspects?${query({})}`).catch(() => ({ rows: [], strong: [], facts: [] })).then(({ rows, strong, facts }) => {
      const byRow = (values) => Object.fromEntries(rows.map((row, k) => [row, values[k]]));
      const said = byRow(strong);
      return { strong: (row) => said[row], facts: facts.map((column) => ({ ...column, values: byRow(column.values) })) };
    }),
    item: (row) => ask(`item?${query({ row })}`).catch(() => ({ answers: [], facts: [] })).then((found) => {
      if (known.size >= MOST_KNOWN) known.clear();
      // Columns of one row, so that they are read as all others are.
      const facts = found.facts.map((column) => ({ ...column, values: { [row]: column.values[0] } }));
      known.set(row, { answers: found.answers, facts });
    }),
  };
}

// The token stands behind the # of the address, which browsers never send, and is then taken away. The browser keeps it
// for this server alone, so that the address of an item opens in another tab, too.
function readToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    keepToken(given);
    history.replaceState(null, "", location.pathname);
  }
  return given ?? keptToken();
}

function keptToken() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // a browser may forbid it
  }
}

function keepToken(token) {
  try {
    if (token) localStorage.setItem(KEY, token);
    else localStorage.removeItem(KEY);
  } catch {
    // then it holds for this tab, until it is read again
  }
}

async function startLive() {
  startThemes(() => live.explorer && drawChart(live.explorer.chart));
  live.token = readToken();
  startDropping();
  byId("live-drop").hidden = !live.token; // nothing can be added without it
  if (live.token) await watch();
  else fail("This page needs the whole address that ogive view printed, with its token.");
}

// Ask how things stand, every second.
async function watch() {
  try {
    const state = await ask("state");
    if (state.version !== live.version) await renew();
    if (state.compared !== live.compared && live.models?.scale) showModel(live.models, live.models.chosen);
    live.compared = state.compared;
    sayState(state);
    live.gone = 0;
  } catch (error) {
    live.gone += 1;
    if (error.status === 401) return refused();
    if (live.gone > 2) fail("ogive view has ended, so nothing new can be shown. Start it again in the terminal.");
  }
  setTimeout(watch, live.gone > 2 ? 5 * SECOND : SECOND);
  return null;
}

// Another run has another token; what was kept is of no use.
function refused() {
  if (keptToken() === live.token) keepToken(null);
  fail("The token is that of another run of ogive view. Open the address that it printed last.");
  return null;
}

async function renew() {
  const found = await ask("data");
  live.version = found.version;
  Object.assign(DATA, { tables: found.tables, scales: found.scales, words: found.words });
  const scales = found.scales.map(preparedScale);
  byId("live-explorer").hidden = !scales.length;
  if (live.models) renewModels(live.models, scales);
  else live.models = makeModels(scales);
  if (live.explorer) renewExplorer(live.explorer, scales);
  else if (scales.length) live.explorer = makeExplorer(scales, showModels);
  showFixes(scales);
  showSections(found.sections);
  if (document.documentElement.dataset.ready) return;
  startFolds();
  performance.mark("ogive-ready");
  document.documentElement.dataset.ready = "yes";
}

function sayState(state) {
  const found = [counted(state.respondents, "model"), counted(state.items, "item"), counted(state.responses, "response")];
  byId("live-counts").textContent = `${found.join(", ")}; read at ${state.read}.`;
  byId("live-doing").textContent = state.doing ? `Now ${state.doing} …` : "";
  byId("live-notes").replaceChildren(...state.notes.map((note) => element("li", { textContent: note })));
  if (state.failure) fail(state.failure);
  else byId("live-failure").hidden = true;
}

function fail(sentence) {
  byId("live-failure").textContent = sentence;
  byId("live-failure").hidden = false;
  if (!document.documentElement.dataset.ready) byId("live-counts").textContent = ""; // nothing is being read
  document.documentElement.dataset.ready ??= "failed";
}

// Items with suspect labels, as a report lists them.
function showFixes(scales) {
  const doubtful = scales.filter((scale) => scale.suspects?.some(Boolean));
  byId("live-fixes").hidden = !doubtful.length;
  byId("live-fix-list").replaceChildren(...doubtful.map(({ name }) => element("div", { className: "table", "data-fixes": name })));
  makeFixes(scales);
}

// All models of the chosen scale, with what is known of each.
function showModels(scale) {
  const { answers, axes } = scale;
  byId("live-models").hidden = !answers;
  if (!answers) return;
  const columns = [
    { name: "respondent", title: "model", kind: "text", values: answers.respondents },
    { name: "mean_response", kind: "number", values: answers.mean },
    { name: "mean_response_se", kind: "number", values: answers.mean_se },
    { name: "responses", kind: "number", values: answers.asked },
  ];
  if (!axes) {
    columns.splice(1, 0, { name: "ability", kind: "number", values: answers.ability }, { name: "ability_se", kind: "number", values: answers.se });
  }
  makeTable(byId("live-models-table"), { caption: "Models", file: "models.csv", columns }, { scale: scale.name });
}

// What a results folder says beside its items.
function showSections(sections) {
  const parts = sections.map((section) => {
    const places = section.tables.map((table) => [element("div", { className: "table" }), table]);
    const made = element("section", {}, [
      element("h2", { textContent: section.title }),
      ...section.sentences.map((textContent) => element("p", { textContent })),
      ...places.map(([place]) => place),
    ]);
    for (const [place, table] of places) makeTable(place, table);
    return made;
  });
  byId("live-sections").replaceChildren(...parts);
}

function startDropping() {
  const zone = byId("live-drop");
  const over = (event) => {
    event.preventDefault();
    zone.classList.toggle("over", event.type === "dragover");
  };
  document.addEventListener("dragover", over);
  document.addEventListener("dragleave", over);
  document.addEventListener("drop", async (event) => {
    over(event);
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const plain = [...event.dataTransfer.files].map((file) => ({ file, path: file.name }));
    await send(entries.some((entry) => entry.isDirectory) ? (await Promise.all(entries.map(filesOf))).flat() : plain);
  });
  for (const id of ["live-file", "live-folder"]) {
    byId(id).addEventListener("change", async (event) => {
      await send([...event.target.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
      event.target.value = "";
    });
  }
}

// The files of a folder that was dropped, with their paths, by which models are named.
async function filesOf(entry) {
  if (entry.isFile) {
    const file = await new Promise((done, failed) => { entry.file(done, failed); });
    return [{ file, path: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((done, failed) => { reader.readEntries(done, failed); });
    if (!some.length) break;
    found.push(...some);
  }
  return (await Promise.all(found.map(filesOf))).flat();
}

async function send(files) {
  if (!files.length) return;
  const said = byId("live-dropped");
  said.className = "";
  try {
    const batch = crypto.randomUUID();
    for (const { file, path } of files) {
      said.textContent = `Reading ${path} …`;
      await ask(`drop?${new URLSearchParams({ batch, path })}`, { method: "POST", body: file });
    }
    said.textContent = (await ask(`open?${new URLSearchParams({ batch })}`, { method: "POST" })).said;
  } catch (error) {
    said.className = "warning";
    said.textContent = error.message || "It could not be sent.";
  }
}
