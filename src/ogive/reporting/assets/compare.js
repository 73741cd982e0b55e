// One model against another, on the items that both answered.

const NOBODY = "";
const NORMAL = 1.959964; // standard errors each way of a 95 % interval
const FEW = [12.70620, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691]; // the same of Student's t with 1, 2, ... degrees of freedom

function startCompare(state) {
  state.compare = { one: null, other: null, which: "all" };
  for (const side of ["one", "other"]) {
    byId(`compare-${side}`).addEventListener("change", (event) => {
      state.compare[side] = event.target.value === NOBODY ? null : Number(event.target.value);
      compareModels(state);
    });
  }
  byId("compare-which").addEventListener("change", (event) => {
    state.compare.which = event.target.value;
    filter(state);
  });
}

// The models of a scale, the strongest first; a scale without responses compares nothing.
function fillCompare(state) {
  const names = state.scale.answers?.respondents ?? [];
  byId("compare").hidden = names.length < 2;
  state.compare = { one: null, other: null, which: "all" };
  for (const side of ["one", "other"]) {
    const options = names.map((name, k) => element("option", { value: String(k), textContent: name }));
    const none = element("option", { value: NOBODY, textContent: "choose" });
    byId(`compare-${side}`).replaceChildren(none, ...options);
  }
  byId("compare-table").replaceChildren();
  byId("compare-said").textContent = "";
  compareNamed(state, { one: names[0], other: names[1], which: "all" });
}

function comparedNames({ scale, compare }) {
  const names = scale.answers?.respondents ?? [];
  return { one: names[compare.one], other: names[compare.other], which: compare.which };
}

// Compare models by name; at first, the two strongest.
function compareNamed(state, { one, other, which }) {
  const names = state.scale.answers?.respondents ?? [];
  const place = (name) => (names.includes(name) ? names.indexOf(name) : null);
  Object.assign(state.compare, { one: place(one), other: place(other), which });
  for (const side of ["one", "other"]) byId(`compare-${side}`).value = String(state.compare[side] ?? NOBODY);
  compareModels(state);
}

function fillWhich(state) {
  const { one, other } = state.compare;
  const { kind, respondents } = state.scale.answers ?? { respondents: [] };
  const [a, b] = [respondents[one] ?? "the first", respondents[other] ?? "the second"];
  const words = kind === "bits"
    ? { all: "all", one: `only ${a} is right`, other: `only ${b} is right`, both: "both are right", neither: "both are wrong" }
    : { all: "all", one: `${a} scores higher`, other: `${b} scores higher`, both: "both score the same" };
  const options = Object.entries(words).map(([value, textContent]) => element("option", { value, textContent }));
  byId("compare-which").replaceChildren(...options);
  byId("compare-which").value = state.compare.which;
}

async function compareModels(state) {
  const { scale, compare } = state;
  fillWhich(state);
  if (compare.one === null || compare.other === null) {
    compare.pairs = null;
    byId("compare-said").textContent = "";
    byId("compare-table").replaceChildren();
    return;
  }
  if (compare.one === compare.other) {
    compare.pairs = null;
    byId("compare-said").textContent = `${scale.answers.respondents[compare.one]} is chosen twice. Choose another model beside it.`;
    byId("compare-table").replaceChildren();
    if (compare.which !== "all") filter(state);
    return;
  }
  const { one, other } = compare;
  const told = await Promise.all([one, other].map((place) => toldOf(scale, place)));
  if (state.compare !== compare || compare.one !== one || compare.other !== other) return; // chosen anew meanwhile
  compare.pairs = { first: told[0].responses, second: told[1].responses, tests: told[0].pairs };
  sayCompared(state);
  tableCompared(state);
  if (compare.which !== "all") filter(state);
}

function compareTests(state) {
  const { pairs, which } = state.compare;
  if (!pairs || which === "all") return [];
  const tests = {
    one: (a, b) => a > b,
    other: (a, b) => b > a,
    both: (a, b) => a === b && (state.scale.answers.kind !== "bits" || a === 1),
    neither: (a, b) => a === b && a === 0,
  };
  return [(row) => isNumber(pairs.first[row]) && isNumber(pairs.second[row]) && tests[which](pairs.first[row], pairs.second[row])];
}

function isNumber(value) {
  return value !== null && value !== undefined;
}

// Means, and the difference with its interval, over the rows that both answered; as on a leaderboard.
function pairFacts({ first, second }, rows, scale) {
  const both = rows.filter((row) => isNumber(first[row]) && isNumber(second[row]));
  const sum = (value) => both.reduce((total, row) => total + value(first[row], second[row]), 0);
  const n = both.length;
  const [one, other] = [sum((a, b) => a > b), sum((a, b) => b > a)];
  const means = { first: sum((a) => a) / n, second: sum((a, b) => b) / n };
  const difference = means.first - means.second;
  const found = { n, ...means, difference, one, other };
  if (scale.answers.kind === "bits") return { ...found, ...agreeing(pairedShares(one, other, n), exactP(one, other), one, other, n) };
  return { ...found, ...pairedScores(sum((a, b) => (a - b - difference) ** 2), difference, n, scale.curve) };
}

// Of paired shares (Agresti and Min, 2005): half a response more in each of the four cells.
function pairedShares(one, other, n) {
  const middle = (one - other) / (n + 2);
  const se = Math.sqrt((one + other + 1) / (n + 2) - middle ** 2) / Math.sqrt(n + 2);
  return { se, low: Math.max(middle - NORMAL * se, -1), high: Math.min(middle + NORMAL * se, 1) };
}

// Ends that exclude 0 where the exact test of the pair rejects it: inverted from the test, if they do not yet.
function agreeing({ se, low, high }, p, one, other, n) {
  if ((low > 0 || high < 0) === (p <= 0.05)) return { se, low, high };
  const least = ((2 * leastShare(Math.max(one, other), one + other) - 1) * (one + other)) / n;
  return one > other ? { se, low: least, high } : { se, low, high: -least };
}

// The share with which so many of n cases, or more, have a chance of 2.5 % (Clopper and Pearson).
function leastShare(count, n) {
  let [low, high] = [0, 1];
  for (let step = 0; step < 50; step += 1) {
    const share = (low + high) / 2;
    if (tailOf(count, n, share) < 0.025) low = share;
    else high = share;
  }
  return low;
}

// How likely a share gives so many of n cases, or more.
function tailOf(count, n, share) {
  let log = n * Math.log(share);
  let tail = 0;
  for (let k = n; k >= count; k -= 1) {
    tail += Math.exp(log);
    log += Math.log(k) - Math.log(n - k + 1) + Math.log1p(-share) - Math.log(share);
  }
  return tail;
}

// Of paired scores: Student's t; where all differences are equal, as if scores were shares of their range.
function pairedScores(squares, difference, n, { low: least, high: most }) {
  if (n < 2) return { se: NaN, low: NaN, high: NaN };
  const se = Math.sqrt(squares / n / (n - 1));
  const ends = [difference - studentReach(n - 1) * se, difference + studentReach(n - 1) * se];
  const span = most - least;
  if (se < 1e-12 && span > 0) {
    const share = difference / span;
    const [one, other] = [share > 0 ? n : 0, share < 0 ? n : 0];
    const near = pairedShares(n * Math.max(share, 0), n * Math.max(-share, 0), n);
    const shares = agreeing(near, share ? 2 ** (1 - n) : 1, one, other, n / Math.abs(share));
    ends[0] = Math.min(span * shares.low, difference);
    ends[1] = Math.max(span * shares.high, difference);
  }
  const bound = least >= 0 && most <= 1 ? 1 : Infinity;
  return { se, low: Math.max(ends[0], -bound), high: Math.min(ends[1], bound) };
}

// Standard errors each way of a 95 % interval whose error was estimated (Cornish and Fisher's expansion).
function studentReach(freedom) {
  if (freedom <= FEW.length) return FEW[freedom - 1];
  const z = NORMAL;
  const powers = (...factors) => factors.reduce((sum, factor, k) => sum + factor * z ** (2 * k + 1), 0);
  return z + powers(1, 1) / (4 * freedom) + powers(3, 16, 5) / (96 * freedom ** 2)
    + powers(-15, 17, 19, 3) / (384 * freedom ** 3) + powers(-945, -1920, 1482, 776, 79) / (92160 * freedom ** 4);
}

// What the leaderboard of the page says of a pair: it knows of clusters of items and of its own level.
function testedPair(tests, a, b) {
  const columns = ["respondent", "other", "difference", "low", "high"].map((name) => tests && columnOf(tests, name));
  if (!columns.every(Boolean)) return null;
  const [first, other, ...numbers] = columns;
  for (let row = 0; row < rowsOf(tests); row += 1) {
    const pair = [valueAt(first, row), valueAt(other, row)];
    const [difference, low, high] = numbers.map((column) => valueAt(column, row));
    if (![difference, low, high].every(isNumber)) continue;
    if (pair[0] === a && pair[1] === b) return { difference, low, high };
    if (pair[0] === b && pair[1] === a) return { difference: -difference, low: -high, high: -low };
  }
  return null;
}

// McNemar's exact test: twice the smaller tail of a fair coin.
function exactP(one, other) {
  const n = one + other;
  let log = -n * Math.LN2;
  let tail = 0;
  for (let k = 0; k <= Math.min(one, other); k += 1) {
    tail += Math.exp(log);
    log += Math.log(n - k) - Math.log(k + 1);
  }
  return Math.min(1, 2 * tail);
}

function sayCompared(state) {
  const { scale, compare } = state;
  const { respondents, kind } = scale.answers;
  const [a, b] = [respondents[compare.one], respondents[compare.other]];
  const found = pairFacts(compare.pairs, scale.names.map((_, row) => row), scale);
  const { tests } = compare.pairs;
  const tested = testedPair(tests, a, b);
  const near = (one, other) => Math.abs(one - other) < 0.001 * (1 + Math.abs(one));
  const own = { low: found.low, high: found.high };
  // Another difference is of means in other units, or over other items: it has its own interval.
  const ends = tested && near(tested.difference, found.difference) ? tested : own;
  const same = near(own.low, ends.low) && near(own.high, ends.high);
  const confidence = tests?.confidence ?? 0.95;
  const level = ends === own ? 0.95 : confidence;
  const said = saidOfPair(a, b, { ...found, low: ends.low, high: ends.high, level, same }, kind);
  const board = tested && ends === own ? ` ${saidOfBoard(tested, confidence)}` : "";
  byId("compare-said").textContent = found.n ? said + board : `${a} and ${b} answered no item in common.`;
}

function saidOfBoard({ difference, low, high }, level) {
  return `On the leaderboard, whose notes say in which units, over which items and tasks: ${withEnds(difference, low, high)}, ${shownNumber(100 * level)} % interval.`;
}

function saidOfPair(a, b, found, kind) {
  const three = (value) => shownNumber(Number(value.toFixed(3)));
  const said = `On the ${counted(found.n, "item")} that both answered, ${a} has a mean of ${three(found.first)} and ${b} ${three(found.second)}`;
  if (Number.isNaN(found.se)) return `${said}; these are too few for an interval of the difference.`;
  const apart = `a difference of ${three(found.difference)}, ${shownNumber(100 * found.level)} % interval ${three(found.low)} to ${three(found.high)}`;
  if (kind !== "bits" || !found.same) return `${said}: ${apart}.`;
  const p = exactP(found.one, found.other);
  const test = `exact McNemar test: p ${p < 0.001 ? "< 0.001" : `= ${p.toFixed(3)}`} if this pair was chosen beforehand`;
  return `${said}: ${apart} (${test}). Only ${a} is right on ${found.one.toLocaleString("en")}, only ${b} on ${found.other.toLocaleString("en")}.`;
}

// One row per task, or per value of the first fact by which one can filter.
function tableCompared(state) {
  const { scale, compare } = state;
  const by = scale.groups.includes("task") ? "task" : scale.groups[0];
  const place = byId("compare-table");
  place.replaceChildren();
  if (!by) return;
  const column = columnOf(scale.content, by);
  const groups = new Map();
  scale.names.forEach((_, row) => {
    const level = valueAt(column, row) || "unknown";
    if (!groups.has(level)) groups.set(level, []);
    groups.get(level).push(row);
  });
  const rows = [...groups].map(([level, members]) => ({ level, ...pairFacts(compare.pairs, members, scale) })).filter((row) => row.n);
  const [a, b] = [scale.answers.respondents[compare.one], scale.answers.respondents[compare.other]];
  const ahead = scale.answers.kind === "bits" ? (model) => `only ${model}` : (model) => `${model} scores higher`;
  const numbers = { items: "n", [a]: "first", [b]: "second", difference: "difference", difference_se: "se", [ahead(a)]: "one", [ahead(b)]: "other" };
  const columns = [{ name: by, kind: "text", values: rows.map((row) => row.level) }];
  for (const [name, key] of Object.entries(numbers)) {
    const values = rows.map((row) => (Number.isNaN(row[key]) ? null : Number(row[key].toPrecision(4))));
    columns.push({ name, kind: "number", values, ...([a, b].some((model) => name.includes(model)) ? { title: name } : {}) });
  }
  makeTable(place, { caption: `Two models by ${by}`, words: "two models", file: "two-models.csv", columns });
}
