// The item explorer: filters, a map, a table that holds the same, and the item that was chosen.

const MOST_NAMES = 60;
const UPWARD = { item_rest: "correlation with the rest" };
const RANGES = ["difficulty-from", "difficulty-to", "discrimination-from", "discrimination-to"];

function makeExplorer(scales, onScale = () => {}) {
  const state = { scales, at: 0, shown: [], chosen: null, groups: [], onScale };
  state.chart = makeChart(byId("explorer-chart"), byId("explorer-chart").firstElementChild);
  fillScales(state);
  listen(state);
  startCompare(state);
  items.scaleOf = (name, scale) => state.scales[scaleOf(state, name, scale)]?.name ?? null;
  items.open = (name, scale) => openItem(state, name, scale);
  routes.item = (scale, name) => {
    if (scaleOf(state, name, scale) === null) return null;
    openItem(state, name, scale);
    return byId("explorer");
  };
  useScale(state, mostDoubtful(state.scales));
  return state;
}

// The scale with the most suspects is where to begin.
function mostDoubtful(scales) {
  const counts = scales.map((scale) => (scale.suspects ?? []).filter(Boolean).length);
  return counts.indexOf(Math.max(...counts));
}

function preparedScale(content) {
  const table = DATA.tables[content.table];
  const numbers = table.columns.filter((column) => column.kind === "number");
  const parameters = Object.fromEntries(numbers.map((column) => (
    [column.name, Float64Array.from(column.values, (value) => (value === null ? NaN : Number(value)))])));
  const names = columnOf(table, "item").values;
  const places = new Map(names.map((name, row) => [name, row]));
  const suspects = columnOf(table, "suspect")?.values ?? null;
  const scale = { ...content, content: table, parameters, names, places, suspects };
  if (content.curve.values) scale.curve = { ...content.curve, bytes: bytesOf(content.curve.values) };
  if (content.remote !== undefined) scale.source = remoteSource(content.remote);
  else if (content.answers) scale.answers = preparedAnswers(content.answers);
  if (content.axes) countsAsPlaces(scale);
  // Where all discriminations are equal, items lie along what each has of its own.
  scale.upward = content.upward ?? "discrimination";
  scale.upwardName = content.axes?.discrimination ?? UPWARD[scale.upward] ?? scale.upward;
  scale.heights = parameters[scale.upward];
  scale.isFar = (row) => !scale.axes && farOut(table, columnOf(table, "difficulty"), row) !== null;
  return scale;
}

// Before a calibration, means and correlations say where an item lies on the map.
function countsAsPlaces({ parameters, curve }) {
  parameters.difficulty = parameters.mean_response.map((mean) => curve.high - mean);
  parameters.discrimination = parameters.item_rest;
  parameters.difficulty_se = parameters.mean_response_se;
  parameters.discrimination_low = parameters.item_rest_low;
  parameters.discrimination_high = parameters.item_rest_high;
}

function preparedAnswers(answers) {
  if (answers.kind === "levels") return { ...answers, codes: codesOf(answers) };
  if (answers.kind === "floats") return { ...answers, floats: new Float32Array(bytesOf(answers.values).buffer) };
  const neverBytes = answers.never ? bytesOf(answers.never) : null;
  return { ...answers, rightBytes: bytesOf(answers.right), neverBytes };
}

// Places among the distinct responses, one or two bytes each.
function codesOf({ values, bytes }) {
  const read = bytesOf(values);
  return bytes === 1 ? read : new Uint16Array(read.buffer);
}

function fillScales(state) {
  const options = state.scales.map((scale, k) => element("option", { value: String(k), textContent: scale.name }));
  byId("explorer-scale").replaceChildren(...options);
  byId("explorer-scale-label").hidden = state.scales.length < 2;
}

function listen(state) {
  byId("explorer-scale").addEventListener("change", (event) => {
    useScale(state, Number(event.target.value));
  });
  for (const id of ["search", "sign", "suspects", ...RANGES]) {
    byId(`explorer-${id}`).addEventListener("input", () => filter(state));
  }
  byId("explorer-clear").addEventListener("click", () => clearFilters(state));
  byId("explorer-previous").addEventListener("click", () => step(state, "difficulty", -1));
  byId("explorer-next").addEventListener("click", () => step(state, "difficulty", 1));
  byId("explorer-suspect").addEventListener("click", () => nextSuspect(state));
  const chart = byId("explorer-chart");
  chart.addEventListener("keydown", (event) => onKey(state, event));
  chart.addEventListener("click", (event) => onClick(state, event));
  chart.addEventListener("mousemove", (event) => onMove(state, event));
}

function useScale(state, at) {
  state.at = at;
  state.scale = state.scales[at];
  state.chosen = null;
  state.shown = []; // rows of another scale are no rows of this one
  byId("explorer-scale").value = String(at);
  const doubtful = Boolean(state.scale.suspects?.some(Boolean));
  for (const id of ["suspect", "suspects-label", "help-suspect"]) byId(`explorer-${id}`).hidden = !doubtful;
  byId("explorer-suspects").checked = false;
  state.chart.names = { ...state.scale.axes, discrimination: state.scale.upwardName };
  nameUpward(state.scale.upwardName);
  for (const pair of document.querySelectorAll("#explorer .pair")) pair.hidden = Boolean(state.scale.axes);
  fillGroups(state);
  fillLegend(state.scale);
  fillCompare(state);
  state.onScale(state.scale);
  state.table = makeTable(byId("explorer-table"), state.scale.content, {
    scale: state.scale.name,
    chosenRows: () => state.shown,
    marked: (row) => row === state.chosen,
  });
  filter(state);
  if (state.chosen !== null) byId("explorer-status").textContent = saidOfItem(state.scale, state.chosen);
}

// The vertical axis by its name: in filters, the help and the description of the map.
function nameUpward(name) {
  const capital = `${name[0].toUpperCase()}${name.slice(1)}`;
  for (const place of document.querySelectorAll("#explorer .upward")) place.textContent = place.closest("label") ? capital : name;
  byId("explorer-discrimination-to").setAttribute("aria-label", `${capital} to`);
  byId("explorer-chart").setAttribute("aria-label", `Items by difficulty and ${name}`);
}

// New data for the same page: what was chosen stays chosen where it still exists.
function renewExplorer(state, scales) {
  const before = { scale: state.scale.name, item: state.scale.names[state.chosen], table: state.table.state };
  const groups = new Map(state.groups.map(({ column, select }) => [column.name, select.value]));
  const pair = comparedNames(state);
  const suspects = byId("explorer-suspects").checked;
  const scroll = byId("explorer-item").scrollTop;
  state.scales = scales;
  fillScales(state);
  useScale(state, Math.max(0, state.scales.findIndex((scale) => scale.name === before.scale)));
  for (const { column, select } of state.groups) select.value = groups.get(column.name) ?? "";
  byId("explorer-suspects").checked = suspects && Boolean(state.scale.suspects);
  const { sort, down, words } = before.table;
  if (before.table.columns[sort]?.name === state.table.state.columns[sort]?.name) Object.assign(state.table.state, { sort, down });
  state.table.parts.search.value = words;
  state.table.state.words = words;
  compareNamed(state, pair);
  filter(state);
  const kept = state.scale.places.get(before.item);
  if (state.shown.includes(kept)) choose(state, kept);
  byId("explorer-item").scrollTop = scroll;
}

// The strongest suspect, or else the first item.
function firstRow(state) {
  return suspectRows(state)[0] ?? state.shown[0];
}

function fillGroups(state) {
  state.groups = state.scale.groups.map((name) => {
    const column = columnOf(state.scale.content, name);
    const levels = [...new Set(column.values.map((_, row) => valueAt(column, row)))].sort();
    const options = levels.map((level) => element("option", { value: level, textContent: level || "unknown" }));
    const select = element("select", {}, [element("option", { value: "", textContent: "any" }), ...options]);
    select.addEventListener("input", () => filter(state));
    return { column, select, label: element("label", {}, [`${name} `, select]) };
  });
  byId("explorer-groups").replaceChildren(...state.groups.map((group) => group.label));
}

function fillLegend(scale) {
  const marks = markOf(scale);
  const kinds = new Set(scale.names.map((_, row) => marks(row)));
  const words = { plain: ["●", "item"], negative: ["▼", `estimated ${scale.upwardName} below zero`], suspect: ["◆", "suspect label"] };
  const entries = Object.entries(words).filter(([kind]) => kinds.has(kind)).map(([kind, [mark, text]]) => (
    element("span", { className: kind, textContent: text, "data-mark": mark })));
  byId("explorer-legend").replaceChildren(...entries, ...remarkOnNegatives(scale));
}

const BEYOND_MAP = "An arrow at the edge: the item lies further out, beyond the map.";

const BELOW_MAP = "below the map, for their responses do not tell how they discriminate";

// Where items lie that have no dot on the map.
function saidOfPlaces({ chart, shown, scale }) {
  const said = shown.some((row) => wayOut(chart, row)) ? [BEYOND_MAP] : [];
  if (!chart.lane.length) return said.join("");
  const sides = chart.lane.map((row) => scale.parameters.difficulty[row]);
  const many = (side, words) => [sides.filter((one) => one === side).length, words];
  const ends = [many(-Infinity, "solved by all (left)"), many(Infinity, "solved by none (right)")];
  const rest = chart.lane.length - ends[0][0] - ends[1][0];
  const parts = [...ends, [rest, "with equal responses or none"]].filter(([count]) => count);
  const named = parts.map(([count, words]) => `${count.toLocaleString("en")} ${words}`).join(", ");
  return [...said, `${counted(chart.lane.length, "item")} lie${chart.lane.length === 1 ? "s" : ""} ${BELOW_MAP}${named && `: ${named}`}.`].join(" ");
}

const OPPOSITE = "Items below zero: their difficulty has the opposite sense. Do not read it as easy or hard.";

function remarkOnNegatives(scale) {
  const some = !scale.axes && scale.parameters.discrimination.some((value) => value < 0);
  const said = [OPPOSITE, ...(scale.cautions ?? [])].join(" ");
  return some ? [element("span", { className: "remark", textContent: said })] : [];
}

function markOf(scale) {
  return (row) => {
    if (scale.suspects?.[row]) return "suspect";
    return scale.heights[row] < 0 ? "negative" : "plain";
  };
}

function clearFilters(state) {
  for (const id of ["search", "sign", ...RANGES]) byId(`explorer-${id}`).value = "";
  byId("explorer-suspects").checked = false;
  for (const { select } of state.groups) select.value = "";
  filter(state);
}

function filter(state) {
  const { scale } = state;
  const tests = [...rangeTests(scale), ...wordTests(state), ...groupTests(state), ...compareTests(state)];
  state.shown = scale.names.map((_, row) => row).filter((row) => tests.every((test) => test(row)));
  const places = { difficulty: scale.parameters.difficulty, discrimination: scale.heights, isFar: scale.isFar };
  placeItems(state.chart, state.shown, places, state.shown.map(markOf(scale)));
  state.table.state.page = 0;
  state.table.show();
  byId("explorer-beyond").textContent = saidOfPlaces(state);
  if (!state.shown.length) showNothing(state);
  else if (!state.shown.includes(state.chosen)) choose(state, firstRow(state));
  sayCount(state);
}

function rangeTests(scale) {
  return RANGES.filter((id) => byId(`explorer-${id}`).value !== "").map((id) => {
    const [name, end] = id.split("-");
    const limit = Number(byId(`explorer-${id}`).value);
    const values = scale.parameters[name === "discrimination" ? scale.upward : name];
    return end === "from" ? (row) => values[row] >= limit : (row) => values[row] <= limit;
  });
}

function wordTests(state) {
  const { scale } = state;
  const tests = [];
  const words = byId("explorer-search").value.trim().toLowerCase();
  const sign = byId("explorer-sign").value;
  if (words) tests.push(wordTest(state, words));
  if (sign) tests.push((row) => (scale.heights[row] < 0) === (sign === "negative"));
  if (byId("explorer-suspects").checked) tests.push((row) => scale.suspects[row]);
  return tests;
}

// Where the server holds the texts, it searches; until it answers, names are searched.
function wordTest(state, words) {
  const { scale } = state;
  if (scale.found?.words === words) return (row) => scale.found.rows.has(row);
  scale.source?.search(words).then((rows) => {
    scale.found = { words, rows: new Set(rows) };
    if (state.scale === scale && byId("explorer-search").value.trim().toLowerCase() === words) filter(state);
  });
  return (row) => wordsOf(scale, row).includes(words);
}

function groupTests(state) {
  return state.groups.filter(({ select }) => select.selectedIndex > 0).map(({ column, select }) => (
    (row) => valueAt(column, row) === select.value));
}

// Name, text and facts of an item, for the search.
function wordsOf(scale, row) {
  scale.words ??= [];
  scale.words[row] ??= [
    scale.names[row],
    scale.instances?.texts?.[row] ?? "",
    ...scale.facts.map((column) => valueAt(column, row) ?? ""),
  ].join("\n").toLowerCase();
  return scale.words[row];
}

function sayCount(state) {
  const { shown, scale } = state;
  const doubtful = scale.suspects ? shown.filter((row) => scale.suspects[row]).length : 0;
  const suspects = scale.suspects ? `, ${counted(doubtful, "suspect label")}` : "";
  const all = counted(scale.names.length, "item");
  const some = scale.names.length === shown.length ? "" : `${shown.length.toLocaleString("en")} of `;
  byId("explorer-status").textContent = `${some}${all} shown${suspects}.`;
}

function onKey(state, event) {
  const moves = {
    ArrowRight: () => step(state, "difficulty", 1),
    ArrowLeft: () => step(state, "difficulty", -1),
    ArrowUp: () => step(state, state.scale.upward, 1),
    ArrowDown: () => step(state, state.scale.upward, -1),
    Home: () => step(state, "difficulty", -Infinity),
    End: () => step(state, "difficulty", Infinity),
    n: () => nextSuspect(state),
    N: () => nextSuspect(state),
    Enter: () => byId("explorer-item").focus(),
  };
  if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  moves[event.key]();
}

function itemUnder(state, event) {
  const box = byId("explorer-chart").getBoundingClientRect();
  return itemNear(state.chart, event.clientX - box.left, event.clientY - box.top);
}

function onClick(state, event) {
  const row = itemUnder(state, event);
  if (row !== null) chooseByHand(state, row);
}

function chooseByHand(state, row) {
  choose(state, row);
  keepAddress("item", state.scale.name, state.scale.names[row]);
}

function onMove(state, event) {
  const row = itemUnder(state, event);
  const place = byId("explorer-chart");
  place.style.cursor = row === null ? "default" : "pointer";
  place.title = row === null ? "" : saidOfItem(state.scale, row);
}

// The items shown, along a parameter; sorted once, for there may be thousands.
function orderAlong(state, name) {
  if (state.along?.shown !== state.shown) state.along = { shown: state.shown };
  const values = state.scale.parameters[name];
  state.along[name] ??= state.shown.filter((row) => !Number.isNaN(values[row])).sort((a, b) => values[a] - values[b] || a - b);
  return state.along[name];
}

// The neighbour along a parameter, among the items shown.
function step(state, name, by) {
  const order = orderAlong(state, name);
  if (!order.length) return;
  const at = order.indexOf(state.chosen);
  const next = at < 0 ? 0 : Math.min(Math.max(at + by, 0), order.length - 1);
  chooseByHand(state, order[next]);
}

function suspectRows(state) {
  const { suspects, parameters } = state.scale;
  if (!suspects) return [];
  const evidence = parameters.evidence;
  return state.shown.filter((row) => suspects[row]).sort((a, b) => evidence[b] - evidence[a] || a - b);
}

function nextSuspect(state) {
  const rows = suspectRows(state);
  if (!rows.length) return;
  chooseByHand(state, rows[(rows.indexOf(state.chosen) + 1) % rows.length]);
}

// Items of several scales may have the same name: without a scale, a name leads nowhere unless it is of one alone.
function scaleOf(state, name, scale) {
  const having = state.scales.map((_, k) => k).filter((k) => state.scales[k].places.has(name));
  if (scale !== null && state.scales.length > 1) return having.find((k) => state.scales[k].name === scale) ?? null;
  return having.length === 1 ? having[0] : null;
}

// An item by its name, and by its scale where there are several.
function calledOf(scale, row) {
  return DATA.scales.length > 1 ? `${scale.names[row]} of ${scale.name}` : scale.names[row];
}

function openItem(state, name, scale) {
  const at = scaleOf(state, name, scale);
  if (at !== state.at) useScale(state, at);
  const row = state.scale.places.get(name);
  if (!state.shown.includes(row)) clearFilters(state);
  choose(state, row);
  keepAddress("item", state.scale.name, name);
  unfold(byId("explorer"));
  byId("explorer-item").focus({ preventScroll: true });
  byId("explorer-chart").scrollIntoView({ block: "center" });
}

function choose(state, row) {
  state.chosen = row;
  markChosen(state.chart, row);
  const at = state.table.state.rows.indexOf(row);
  if (at >= 0) state.table.state.page = Math.floor(at / ROWS_ON_A_PAGE);
  fillRows(state.table.state, state.table.parts);
  byId("explorer-status").textContent = saidOfItem(state.scale, row);
  showItem(state, row);
}

// The item beside the map, once its responses are known.
function showItem(state, row) {
  const { scale } = state;
  const show = () => {
    if (state.scale === scale && state.chosen === row) byId("explorer-item").replaceChildren(...partsOfItem(scale, row));
  };
  if (scale.source && !scale.source.known(row)) scale.source.item(row).then(show);
  else show();
}

function showNothing(state) {
  state.chosen = null;
  markChosen(state.chart, null);
  byId("explorer-item").replaceChildren(element("p", { textContent: "No item matches the filters." }));
}

function saidOfItem(scale, row) {
  const far = (name) => (scale.axes ? null : farOut(scale.content, columnOf(scale.content, name), row));
  const told = (name) => scale.parameters[name]?.[row] ?? NaN;
  const at = (name) => far(name) ?? (`${name}_low` in scale.parameters
    ? withEnds(told(name), told(`${name}_low`), told(`${name}_high`))
    : withError(told(name), told(`${name}_se`)));
  const suspect = scale.suspects?.[row] ? "; its label is suspect" : "";
  const first = `${scale.axes?.difficulty ?? "difficulty"} ${at("difficulty")}`;
  const second = `${scale.upwardName} ${at(scale.axes ? "discrimination" : scale.upward)}`;
  return `${calledOf(scale, row)}: ${first}, ${second}${suspect}.`;
}

function partsOfItem(scale, row) {
  const parts = [element("h3", { textContent: scale.names[row] })];
  if (DATA.scales.length > 1) parts.push(element("p", { className: "about of-scale", textContent: `An item of ${scale.name}.` }));
  if (scale.suspects?.[row]) {
    const sure = `${Math.round(100 * scale.parameters.evidence[row])} %`;
    parts.push(element("p", { className: "badge", textContent: `Suspect label: the evidence that it is wrong is ${sure}` }));
  }
  parts.push(...instanceParts(scale, row));
  parts.push(element("h4", { textContent: scale.axes ? "Responses" : "Expected response" }), curvePicture(scale, row, scale.names[row]));
  if (answersTo(scale, row).length > MOST_DOTS) {
    const size = Math.ceil(answersTo(scale, row).filter((answer) => answer !== null).length / GROUPS);
    parts.push(element("p", { className: "about", textContent: `Each dot is the mean of ${counted(size, "respondent")} of similar ${scale.answers.measure ?? "ability"}, with a 95 % interval.` }));
  }
  parts.push(parameterList(scale, row), element("div", { className: "answers" }, answerParts(scale, row)));
  return parts;
}

// Parameters with their standard errors or intervals, and the rest of the row.
function parameterList(scale, row) {
  const { columns } = scale.content;
  const errors = new Map(columns.filter((column) => /_(se|low|high)$/.test(column.name)).map((column) => [column.name, column]));
  const rows = columns.filter((column) => column.name !== "item" && !errors.has(column.name) && isKnown(column, row)).map((column) => {
    const [error, low, high] = ["se", "low", "high"].map((end) => errors.get(`${column.name}_${end}`));
    const far = farOut(scale.content, column, row);
    const text = far ? `${far}${far === UNTOLD ? "" : " (beyond the scale)"}`
      : error ? withError(valueAt(column, row), valueAt(error, row))
        : low && high ? withEnds(valueAt(column, row), valueAt(low, row), valueAt(high, row)) : shownValue(column, row);
    return definition(column.name.replaceAll("_", " "), text);
  });
  return element("dl", { className: "facts" }, rows);
}

function definition(name, value) {
  return element("div", {}, [element("dt", { textContent: name }), element("dd", { textContent: value })]);
}

// What is behind the item: picture, text, feature row, facts.
function instanceParts(scale, row) {
  const { rows = [], texts, pictures } = scale.instances ?? {};
  const parts = [];
  if (pictures?.[row]) parts.push(element("img", { src: pictures[row], alt: `Picture of ${scale.names[row]}` }));
  if (texts?.[row]) parts.push(words(texts[row], "Text"));
  const asked = scale.source?.known(row)?.facts ?? [];
  const facts = [...scale.facts, ...asked, ...rows].filter((column) => ![null, ""].includes(valueAt(column, row)));
  const long = facts.filter((column) => column.kind === "text" && valueAt(column, row).length > 60);
  for (const column of long) parts.push(element("h4", { textContent: column.name }), words(valueAt(column, row), column.name));
  const short = facts.filter((column) => !long.includes(column));
  const list = short.map((column) => definition(column.name, shownValue(column, row)));
  if (list.length) parts.push(element("dl", { className: "facts" }, list));
  return parts.length ? [element("h4", { textContent: "The instance" }), ...parts] : [];
}

function words(text, name) {
  const place = element("div", { className: "words", textContent: text, tabIndex: 0, role: "group" });
  place.setAttribute("aria-label", name);
  return place;
}

function answerParts(scale, row) {
  const { answers } = scale;
  if (!answers) return [];
  const given = answersTo(scale, row);
  const groups = answers.kind === "bits"
    ? [["Right", (answer) => answer === 1], ["Wrong", (answer) => answer === 0]]
    : [["Responses", (answer) => answer !== null]];
  const parts = groups.flatMap(([title, belongs]) => {
    const places = given.map((_, k) => k).filter((k) => belongs(given[k]));
    const heading = element("h4", { textContent: `${title} (${places.length.toLocaleString("en")}), the strongest first` });
    return [heading, ...nameList(scale, places, answers.kind === "bits" ? null : given)];
  });
  if (answers.left_out) {
    const note = `Not on this page: ${counted(answers.left_out, "respondent")} between these.`;
    parts.push(element("p", { className: "about", textContent: note }));
  }
  return parts;
}

function nameList({ answers, name }, places, given) {
  const entry = (k) => element("li", {}, [
    ...respondentLink(answers.respondents[k], name),
    " ",
    element("span", { textContent: given ? shownResponse(given[k]) : shownNumber(answers.ability[k]) }),
  ]);
  const list = element("ul", { className: "names" }, places.slice(0, MOST_NAMES).map(entry));
  if (places.length <= MOST_NAMES) return [list];
  const more = element("button", { type: "button", textContent: `Show ${counted(places.length - MOST_NAMES, "more name")}` });
  more.addEventListener("click", () => {
    list.append(...places.slice(MOST_NAMES).map(entry));
    more.remove();
  });
  return [list, more];
}
