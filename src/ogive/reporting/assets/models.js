// One model: where it fails, whom it beats, and which responses were not expected of it.

const SURPRISING = 0.2; // a right response with a lower chance, or a wrong one with a lower chance, surprises
const MOST_SURPRISES = 12;
const MOST_LISTED = 200; // unexpected responses of a model
const CORRECTED = "After correction for multiple tests. The interval of a single pair, as under Two models, is not corrected, and may exclude 0 for two that cannot be distinguished.";
const THIRDS = ["easy items", "middle items", "hard items"];

function makeModels(scales) {
  if (!byId("models")) return null;
  const state = { scales: [], scale: null, chosen: 0 };
  byId("models-scale").addEventListener("change", (event) => {
    useModels(state, Number(event.target.value));
    addressOf(state);
  });
  byId("models-model").addEventListener("change", (event) => {
    state.unchosen = false;
    showModel(state, Number(event.target.value));
    addressOf(state);
  });
  routes.model = (scale, name) => {
    const at = state.scales.length === 1 ? 0 : state.scales.findIndex((one) => one.name === scale);
    const k = at < 0 ? -1 : state.scales[at].answers.respondents.indexOf(name);
    if (k < 0) return null;
    useModels(state, at, k);
    return byId("models");
  };
  // As of items: without a scale, as in a table about all of them, a name leads nowhere unless it is of one alone.
  respondents.scaleOf = (name, scale) => {
    const having = state.scales.filter((one) => namesOn(one).has(name)).map((one) => one.name);
    if (scale !== null && state.scales.length > 1) return having.includes(scale) ? scale : null;
    return having.length === 1 ? having[0] : null;
  };
  respondents.open = (name, scale) => goTo("model", scale, name);
  renewModels(state, scales);
  return state;
}

function namesOn(scale) {
  scale.known ??= new Set(scale.answers.respondents);
  return scale.known;
}

// The models of these scales; who was chosen stays chosen where it still exists.
function renewModels(state, scales) {
  const before = { scale: state.scale?.name, model: state.scale?.answers.respondents[state.chosen] };
  state.scales = scales.filter((scale) => scale.answers?.respondents.length);
  state.scale = null;
  byId("models").hidden = !state.scales.length;
  if (!state.scales.length) return;
  byId("models-scale").replaceChildren(...state.scales.map((scale, k) => element("option", { value: String(k), textContent: scale.name })));
  byId("models-scale-label").hidden = state.scales.length < 2;
  const at = Math.max(0, state.scales.findIndex((scale) => scale.name === before.scale));
  const k = state.unchosen ? -1 : state.scales[at].answers.respondents.indexOf(before.model);
  useModels(state, at, k < 0 ? null : k);
}

// Without a model that was chosen, the first of the leaderboard is shown.
function useModels(state, at, k = null) {
  state.unchosen = k === null;
  if (state.scale !== state.scales[at]) {
    state.scale = state.scales[at];
    const names = state.scale.answers.respondents.map((name, place) => element("option", { value: String(place), textContent: name }));
    byId("models-scale").value = String(at);
    byId("models-model").replaceChildren(...names);
  }
  showModel(state, k ?? 0);
}

function addressOf(state) {
  keepAddress("model", state.scale.name, state.scale.answers.respondents[state.chosen]);
}

// The table of pairs that were compared on the items of a scale, if the page has one.
function pairsTable(scale) {
  const mine = (table) => (table.scales ? table.scales.includes(scale.name) : DATA.scales.length === 1);
  return Object.values(DATA.tables).find((table) => mine(table) && ["respondent", "other", "verdict"].every((name) => columnOf(table, name))) ?? null;
}

async function showModel(state, k) {
  const { scale } = state;
  state.chosen = k;
  byId("models-model").value = String(k);
  const name = scale.answers.respondents[k];
  const { responses, pairs, board } = await toldOf(scale, k);
  if (state.scale !== scale || state.chosen !== k) return; // chosen anew meanwhile
  const leader = inBoardOrder(scale, board);
  if (state.unchosen && leader !== k) return showModel(state, leader);
  const given = responses.map((answer, row) => responseOf(scale, row, k, answer)).filter(Boolean);
  byId("models-one").replaceChildren(
    element("h4", { className: "name", textContent: name }),
    element("p", { textContent: saidOfModel(scale, k, given, board) }),
    ...(isPlaced(scale) ? scale.cautions ?? [] : []).map((said) => element("p", { className: "about", textContent: said })),
    ...pairParts(pairs, name, scale.name),
    ...failureParts(scale, given),
    ...(isPlaced(scale) ? surpriseParts(scale, given) : []),
  );
}

// All responses of one respondent, item by item, and its pairs: from the page, or from the server.
async function toldOf(scale, k) {
  if (scale.source) return scale.source.respondent(k);
  return { responses: scale.names.map((_, row) => answerAt(scale.answers, row, k)), pairs: pairsTable(scale), board: boardTable(scale) };
}

// The leaderboard of a scale, the first first, if the page has one.
function boardTable(scale) {
  const mine = (table) => (table.scales ? table.scales.includes(scale.name) : DATA.scales.length === 1);
  const table = Object.values(DATA.tables).find((one) => mine(one) && ["respondent", "rank", "rank_low"].every((name) => columnOf(one, name)));
  if (!table) return null;
  const rows = Array.from({ length: rowsOf(table) }, (_, row) => row).filter((row) => namesOn(scale).has(valueAt(columnOf(table, "respondent"), row)));
  const all = (name) => rows.map((row) => valueAt(columnOf(table, name), row));
  const measure = columnOf(table, "accuracy") ? "accuracy" : "mean_score";
  return { respondents: all("respondent"), ranks: all("rank"), means: columnOf(table, measure) ? all(measure) : null, measure: measure.replace("_", " ") };
}

// List models as the board does, and return where its first one is; without a board the strongest.
function inBoardOrder(scale, board) {
  const first = board ? scale.answers.respondents.indexOf(board.respondents[0]) : -1;
  if (first < 0) return 0;
  const place = new Map(board.respondents.map((name, at) => [name, at]));
  const select = byId("models-model");
  const chosenNow = select.value;
  const sorted = [...select.options].sort((a, b) => (place.get(a.textContent) ?? Infinity) - (place.get(b.textContent) ?? Infinity) || a.value - b.value);
  if (sorted.some((one, at) => one !== select.options[at])) select.replaceChildren(...sorted);
  select.value = chosenNow;
  return first;
}

function saidOfModel(scale, k, given, board) {
  const { answers } = scale;
  const of = answers.respondents.length + (answers.left_out ?? 0);
  const mean = meanOf(given, (one) => one.answer);
  const some = given.length < scale.names.length;
  const asked = some ? `the ${counted(given.length, "item")} it answered, out of ${scale.names.length.toLocaleString("en")},` : counted(given.length, "item");
  const right = given.filter((one) => one.answer === 1).length.toLocaleString("en");
  const rights = some ? `${right} right of ${asked} a share of` : `${right} of ${asked} right, a share of`;
  const what = answers.kind === "bits" ? rights : `mean response to ${asked}`;
  const share = `${what} ${withError(mean, errorOfMean(given, mean, answers.kind === "bits"))}`;
  const placed = !answers.left_out && of > 1 && answers.comparable !== false;
  const ranked = board ? board.respondents.indexOf(answers.respondents[k]) : -1;
  const place = ranked >= 0 && of > 1 ? onBoard(board, ranked) : placed ? `, ${placeOf(answers.ability, k)} of ${of.toLocaleString("en")} by ${answers.measure ?? "ability"}` : "";
  if (!isPlaced(scale)) return `${share[0].toUpperCase()}${share.slice(1)}${answers.measure ? place : ""} (± standard error).`;
  const where = DATA.scales.length > 1 ? ` This is the scale of ${scale.name} in the item explorer; a section with a scale of its own may rank differently.` : "";
  return `Ability ${withError(answers.ability[k], answers.se?.[k] ?? NaN)}${place}; ${share} (± standard error).${where}`;
}

// Whether abilities say where respondents stand: too few of them make no scale.
function isPlaced({ curve, answers }) {
  return curve.kind !== "none" && answers.placed !== false;
}

function onBoard({ respondents, ranks, means, measure }, at) {
  const mean = means ? `, ${measure} ${shownNumber(means[at])}` : "";
  const others = ranks.filter((one) => one === ranks[at]).length - 1;
  return `, ${sharedPlace(ranks[at], others)} of ${respondents.length.toLocaleString("en")} on the leaderboard${mean}`;
}

function sharedPlace(place, others) {
  return `place ${place.toLocaleString("en")}${others ? ` (shared with ${counted(others, "other")})` : ""}`;
}

// Models of equal ability share the first of their places.
function placeOf(ability, k) {
  const others = ability.filter((one) => one === ability[k]).length - 1;
  return sharedPlace(ability.indexOf(ability[k]) + 1, others);
}

// Whom it beats, by tests of pairs that allow for all of them.
function pairParts(pairs, name, scale) {
  if (!pairs) return [];
  const [first, other, verdict] = ["respondent", "other", "verdict"].map((one) => columnOf(pairs, one));
  const found = { better: [], worse: [], level: [] };
  for (let row = 0; row < rowsOf(pairs); row += 1) {
    const pair = [valueAt(first, row), valueAt(other, row)];
    if (!pair.includes(name)) continue;
    const said = valueAt(verdict, row);
    const turned = pair[1] === name;
    const kind = said === "better" ? (turned ? "worse" : "better") : said === "worse" ? (turned ? "better" : "worse") : "level";
    if (said !== "no shared items") found[kind].push(pair[turned ? 0 : 1]);
  }
  const heading = element("h4", { textContent: "Whom it beats" });
  if (!Object.values(found).some((names) => names.length)) {
    return [heading, element("p", { className: "about", textContent: "It was not compared with others in pairs." })];
  }
  const titles = { better: "Significantly better than", worse: "Significantly worse than", level: "Cannot be distinguished from" };
  const rows = Object.entries(titles).map(([kind, title]) => element("div", {}, [
    element("dt", { textContent: `${title} (${found[kind].length.toLocaleString("en")})` }),
    element("dd", {}, namesOf(found[kind], scale)),
  ]));
  const about = element("p", { className: "about", textContent: CORRECTED });
  return [heading, element("dl", { className: "facts beaten" }, rows), about];
}

function namesOf(names, scale) {
  if (!names.length) return ["nobody"];
  const shown = names.slice(0, MOST_SURPRISES).flatMap((name, k) => [...(k ? [", "] : []), ...respondentLink(name, scale)]);
  return names.length > MOST_SURPRISES ? [...shown, ` and ${names.length - MOST_SURPRISES} more`] : shown;
}

// Where it fails: by task, or else from easy to hard.
function failureParts(scale, given) {
  const columns = scale.groups.map((name) => columnOf(scale.content, name)).filter(Boolean);
  const binary = scale.answers.kind === "bits";
  const tables = columns.map((column) => byGroup(`By ${column.name}`, given, binary, (one) => valueAt(column, one.row) || "unknown"));
  if (!tables.length) tables.push(byGroup("By difficulty", given, binary, thirdsOf(scale)));
  const note = !isPlaced(scale)
    ? "The worst first. What is expected of it is known once there is a scale."
    : "The worst first, compared with what is expected at its ability: two standard errors below 0 or more, it fails there more often than models of equal ability; smaller differences may be chance.";
  return [element("h4", { textContent: "Where it fails" }), element("p", { className: "about", textContent: note }), ...tables];
}

function thirdsOf(scale) {
  const order = [...scale.parameters.difficulty].filter(Number.isFinite).sort((a, b) => a - b);
  const limit = (share) => order[Math.floor(share * order.length)] ?? Infinity;
  return ({ row }) => {
    const at = scale.parameters.difficulty[row];
    return at < limit(1 / 3) ? THIRDS[0] : at < limit(2 / 3) ? THIRDS[1] : THIRDS[2];
  };
}

// As on a leaderboard; responses that are all the same do not show that the mean is certain.
function errorOfMean(list, mean, binary) {
  const n = list.length;
  const found = n > 1 ? Math.sqrt(meanOf(list, (one) => (one.answer - mean) ** 2) / (n - 1)) : NaN;
  if (!binary || found > 0) return found;
  const share = (n * mean + 1) / (n + 2);
  return Math.sqrt((share * (1 - share)) / (n + 3));
}

function byGroup(caption, given, binary, groupOf) {
  const groups = new Map();
  for (const one of given) {
    const name = groupOf(one);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(one);
  }
  const known = given.length > 0 && given[0].expected !== undefined;
  const value = known ? (one) => one.answer - one.expected : (one) => one.answer;
  const rows = [...groups].map(([name, list]) => ({ name, list, mean: meanOf(list, value) })).sort((a, b) => a.mean - b.mean);
  const whole = wholeOf(given, binary);
  const error = ({ list, mean }) => (known ? errorOfDifference(list, whole) : errorOfMean(list, mean, binary));
  const number = (name, of) => ({ name, kind: "number", values: rows.map(of) });
  const table = {
    caption,
    words: "where it fails",
    file: `${caption.toLowerCase().replaceAll(" ", "-")}.csv`,
    columns: [
      { name: "group", kind: "text", values: rows.map(({ name }) => name) },
      number("items", ({ list }) => list.length),
      number("mean_response", ({ list }) => meanOf(list, (one) => one.answer)),
      ...(known ? [
        number("expected", ({ list }) => meanOf(list, (one) => one.expected)),
        number("difference", ({ mean }) => mean),
        number("difference_se", error),
      ] : [number("mean_response_se", error)]),
    ],
  };
  const place = element("div", { className: "table" });
  makeTable(place, table);
  return place;
}

// Responses that the model did not expect: rights and wrongs, the least likely first.
function surpriseParts(scale, given) {
  const binary = scale.answers.kind === "bits";
  const kinds = binary
    ? [["Unexpected rights", (one) => one.answer === 1, (one) => one.expected], ["Unexpected wrongs", (one) => one.answer === 0, (one) => 1 - one.expected]]
    : [["Higher than expected", (one) => one.off > 0, (one) => 1 - one.off], ["Lower than expected", (one) => one.off < 0, (one) => 1 + one.off]];
  return kinds.flatMap(([title, belongs, chance]) => {
    const rare = (one) => !binary || chance(one) < SURPRISING;
    const found = given.filter((one) => belongs(one) && rare(one)).sort((a, b) => chance(a) - chance(b));
    const usual = binary ? given.filter(rare).reduce((sum, one) => sum + chance(one), 0) : null;
    const much = usual === null ? "" : ` ${counted(found.length, "response")} with a chance below ${SURPRISING}; at this ability, ${shownTo(usual, 1)} are expected.`;
    const cut = found.length > MOST_LISTED ? ` The table holds the first ${MOST_LISTED} of ${found.length.toLocaleString("en")}.` : "";
    const heading = [element("h4", { textContent: title }), element("p", { className: "about", textContent: much + cut })];
    return found.length ? [...heading, surpriseTable(scale, title, found, binary ? chance : null)] : heading;
  });
}

function surpriseTable(scale, caption, found, chance) {
  const groups = scale.groups.map((name) => columnOf(scale.content, name)).filter(Boolean);
  const shown = found.slice(0, MOST_LISTED);
  const numbers = chance ? { chance } : { response: (one) => one.answer, expected: (one) => one.expected };
  const table = {
    caption,
    file: `${caption.toLowerCase().replaceAll(" ", "-")}.csv`,
    columns: [
      { name: "item", kind: "text", values: shown.map((one) => scale.names[one.row]) },
      ...groups.map((column) => ({ name: column.name, kind: "text", values: shown.map((one) => valueAt(column, one.row) || "unknown") })),
      ...Object.entries(numbers).map(([name, value]) => ({ name, kind: "number", values: shown.map(value) })),
    ],
  };
  const place = element("div", { className: "table" });
  makeTable(place, table, { scale: scale.name });
  return place;
}

// Items with suspect labels, to be mended: what they are, their label, what strong models said.
function makeFixes(scales) {
  for (const place of document.querySelectorAll("[data-fixes]")) {
    const scale = scales.find((one) => one.name === place.dataset.fixes);
    const caption = scales.length > 1 ? `Suspect items of ${scale.name}` : "Suspect items";
    toldOfSuspects(scale).then((told) => {
      makeTable(place, { ...fixTable(scale, told), caption }, { scale: scale.name, picture: (name) => scale.instances?.pictures?.[scale.places.get(name)] ?? null });
    });
  }
}

// Facts of suspect items, and what the strongest third said to each, by row.
async function toldOfSuspects(scale) {
  if (scale.source) return scale.source.suspects();
  return { facts: scale.facts, strong: (row) => saidOfStrong(scale, row) };
}

function fixTable(scale, told) {
  const { evidence } = scale.parameters;
  const rows = scale.names.map((_, row) => row).filter((row) => scale.suspects[row]).sort((a, b) => evidence[b] - evidence[a] || a - b);
  const text = (name, value) => ({ name, kind: "text", values: rows.map((row) => value(row) ?? "") });
  const fact = (name) => columnOf(scale.content, name);
  const groups = scale.groups.map(fact).filter(Boolean);
  const isLabel = (column) => fact("label") && rows.every((row) => valueAt(column, row) === valueAt(fact("label"), row));
  const long = [...told.facts, ...(scale.instances?.rows ?? [])].filter((column) => column.kind === "text" && !groups.some((one) => one.name === column.name));
  return {
    file: `fix-list-${scale.name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.csv`,
    columns: [
      text("item", (row) => scale.names[row]),
      ...["label", "likely"].filter(fact).map((name) => text(name === "label" ? "given_label" : "models_say", (row) => valueAt(fact(name), row))),
      text("strongest_third_right", told.strong),
      { name: "evidence", kind: "number", values: rows.map((row) => evidence[row]) },
      ...groups.filter((column) => !["label", "likely"].includes(column.name) && !isLabel(column)).map((column) => text(column.name, (row) => valueAt(column, row))),
      ...long.map((column) => text(column.name, (row) => valueAt(column, row))),
      ...(scale.instances?.texts ? [text("content", (row) => scale.instances.texts[row])] : []),
    ],
  };
}

function saidOfStrong(scale, row) {
  if (scale.answers?.kind !== "bits") return "";
  const asked = answersTo(scale, row).filter((answer) => answer !== null);
  const strong = asked.slice(0, Math.max(1, Math.ceil(asked.length / 3)));
  return `${strong.filter((answer) => answer === 1).length} of ${strong.length}`;
}
