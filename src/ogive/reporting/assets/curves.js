// The curve of one item, and the respondents on it.

const PLOT = { width: 420, height: 240, left: 42, right: 10, top: 10, bottom: 34 };
const PLOT_WIDTHS = [180, 420]; // as wide as its place between these, so that its words keep their size
const MOST_DOTS = 300; // beyond, single respondents would cover each other
const GROUPS = 24;
const SVG = "http://www.w3.org/2000/svg";

function drawn(name, attributes, words = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (words !== null) made.textContent = words;
  return made;
}

// Expected response of an item at an ability.
function expectedAt(scale, row, ability) {
  const { curve, parameters } = scale;
  if (curve.kind === "logistic") {
    const at = (name) => (parameters[name] ? parameters[name][row] ?? 0 : 0);
    const [slope, place, guessing, slip] = curve.nominal?.[row]
      ?? ["discrimination", "difficulty", "guessing", "slip"].map(at);
    return guessing + (1 - slip - guessing) / (1 + Math.exp(-slope * (ability - place)));
  }
  const place = ((ability - curve.from) / (curve.to - curve.from)) * (curve.points - 1);
  const k = Math.min(Math.max(Math.floor(place), 0), curve.points - 2);
  const share = Math.min(Math.max(place - k, 0), 1);
  const sample = (j) => curve.bytes[row * curve.points + j];
  const level = ((1 - share) * sample(k) + share * sample(k + 1)) / 255;
  return curve.low + level * (curve.high - curve.low);
}

// Responses to an item, the strongest respondent first; null where it was never asked.
function answersTo(scale, row) {
  if (scale.source) return scale.source.known(row)?.answers ?? [];
  const { answers } = scale;
  return answers ? answers.respondents.map((_, k) => answerAt(answers, row, k)) : [];
}

// One response on this page: of the k-th respondent to the item of a row.
function answerAt(answers, row, k) {
  const count = answers.respondents.length;
  if (answers.kind === "bits") {
    const width = Math.ceil(count / 8);
    const bit = (bytes) => (bytes[row * width + (k >> 3)] >> (7 - (k & 7))) & 1;
    return answers.neverBytes && bit(answers.neverBytes) ? null : bit(answers.rightBytes);
  }
  if (answers.kind === "floats") {
    const value = answers.floats[row * count + k];
    return Number.isNaN(value) ? null : value;
  }
  return answers.levels[answers.codes[row * count + k]] ?? null;
}

function curvePicture(scale, row, name) {
  const picture = drawn("svg", { role: "img", "aria-label": `Expected response to ${name} along ability` });
  drawCurve(picture, scale, row);
  new ResizeObserver(([{ contentRect }]) => {
    const width = Math.round(Math.min(Math.max(contentRect.width, PLOT_WIDTHS[0]), PLOT_WIDTHS[1]));
    if (!contentRect.width || width === picture.viewBox.baseVal.width) return;
    PLOT.width = width;
    drawCurve(picture, scale, row);
  }).observe(picture);
  return picture;
}

function drawCurve(picture, scale, row) {
  const { curve } = scale;
  const places = axes(curve);
  picture.replaceChildren();
  picture.setAttribute("viewBox", `0 0 ${PLOT.width} ${PLOT.height}`);
  drawAxes(picture, curve, places, scale.answers?.measure ?? "ability");
  drawAnswers(picture, scale, row, places);
  if (curve.kind === "none") return;
  if (curve.nominal?.[row]) { // its curve would be of the prior alone
    const middle = { x: (PLOT.left + PLOT.width - PLOT.right) / 2, y: PLOT.height / 2, "text-anchor": "middle" };
    picture.append(drawn("text", middle, "No curve: all responses are alike"));
    return;
  }
  const points = Array.from({ length: 81 }, (_, k) => curve.from + (k / 80) * (curve.to - curve.from));
  const line = points.map((ability, k) => (
    `${k ? "L" : "M"}${places.x(ability).toFixed(1)} ${places.y(expectedAt(scale, row, ability)).toFixed(1)}`));
  const negative = scale.parameters.discrimination[row] < 0 ? " negative" : "";
  picture.append(drawn("path", { class: `curve${negative}`, d: line.join("") }));
}

function axes(curve) {
  const { width, height, left, right, top, bottom } = PLOT;
  const clamp = (share) => Math.min(Math.max(share, 0), 1);
  return {
    x: (ability) => left + clamp((ability - curve.from) / (curve.to - curve.from)) * (width - left - right),
    y: (value) => height - bottom - clamp((value - curve.low) / (curve.high - curve.low)) * (height - top - bottom),
  };
}

function drawAxes(picture, curve, places, measure) {
  for (const value of ticks(curve.low, curve.high, 4)) {
    picture.append(drawn("path", { class: "grid", d: `M${PLOT.left} ${places.y(value)}H${PLOT.width - PLOT.right}` }));
    const at = { x: PLOT.left - 5, y: places.y(value) + 4, "text-anchor": "end" };
    picture.append(drawn("text", at, shownNumber(value)));
  }
  const floor = PLOT.height - PLOT.bottom;
  picture.append(drawn("path", { class: "axis", d: `M${PLOT.left} ${floor}H${PLOT.width - PLOT.right}` }));
  for (const value of ticks(curve.from, curve.to, PLOT.width < 300 ? 4 : 6)) {
    const at = { x: places.x(value), y: floor + 14, "text-anchor": "middle" };
    picture.append(drawn("text", at, shownNumber(value)));
  }
  const middle = { x: (PLOT.left + PLOT.width - PLOT.right) / 2, y: PLOT.height - 4, "text-anchor": "middle" };
  picture.append(drawn("text", middle, measure));
}

function drawAnswers(picture, scale, row, places) {
  const given = answersTo(scale, row);
  if (given.length > MOST_DOTS) {
    drawGroups(picture, scale, given, places);
    return;
  }
  given.forEach((answer, k) => {
    if (answer === null) return;
    const jitter = ((k * 7919) % 11) - 5; // equal answers would hide each other
    const y = Math.min(Math.max(places.y(answer) + jitter, PLOT.top + 3), PLOT.height - PLOT.bottom - 3);
    const dot = drawn("circle", { class: "answer", cx: places.x(scale.answers.ability[k]), cy: y, r: 2.4 });
    dot.append(drawn("title", {}, `${scale.answers.respondents[k]}: ${shownResponse(answer)} at ability ${shownNumber(scale.answers.ability[k])}`));
    picture.append(dot);
  });
}

// Of many respondents, means of equally large groups along the scale, with 95 % intervals.
function drawGroups(picture, scale, given, places) {
  for (const { ability, mean, low, high, n } of groupsOf(scale, given)) {
    const x = places.x(ability).toFixed(1);
    picture.append(drawn("path", { class: "interval", d: `M${x} ${places.y(low)}V${places.y(high)}` }));
    const dot = drawn("circle", { class: "group", cx: x, cy: places.y(mean), r: 2.8 });
    dot.append(drawn("title", {}, `${counted(n, "respondent")}: mean response ${shownNumber(mean)}`));
    picture.append(dot);
  }
}

function groupsOf(scale, given) {
  const places = given.map((_, k) => k).filter((k) => given[k] !== null);
  const size = Math.ceil(places.length / GROUPS);
  const groups = Array.from({ length: Math.ceil(places.length / size) || 0 }, (_, g) => places.slice(g * size, (g + 1) * size));
  return groups.map((members) => {
    const n = members.length;
    const average = (value) => members.reduce((sum, k) => sum + value(k), 0) / n;
    const mean = average((k) => given[k]);
    const spread = Math.max(average((k) => given[k] ** 2) - mean ** 2, 0);
    const around = scale.answers.kind === "bits" ? wilson(mean, n) : [mean, 1.96 * Math.sqrt(spread / n)];
    return { n, mean, ability: average((k) => scale.answers.ability[k]), low: around[0] - around[1], high: around[0] + around[1] };
  });
}

// Middle and half width of Wilson's interval of a share.
function wilson(share, n) {
  const z = 1.96;
  const shrink = 1 + (z * z) / n;
  return [(share + (z * z) / (2 * n)) / shrink, (z * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n))) / shrink];
}

// Round numbers inside a range, about as many as wanted.
function ticks(from, to, wanted) {
  const span = to - from;
  if (!(span > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(span / wanted));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => span / size <= wanted + 0.5);
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}
