// The map of items: difficulty against discrimination, on a canvas, since there may be thousands.

const MARGIN = { left: 48, right: 14, top: 12, bottom: 40 };
const LANE = 22; // pixels below the map, for items that have no place on it
const LANE_STEP = 8; // pixels between those on the same side
const REACH = 14; // pixels within which a click finds an item

function makeChart(place, canvas) {
  const chart = { place, canvas, xs: [], ys: [], rows: [], lane: [], marks: [], beyond: [], chosen: null, names: {} };
  new ResizeObserver(() => drawChart(chart)).observe(place);
  return chart;
}

// Where most of the values lie; a few flat items would squash all others.
function limitsOf(values) {
  const sorted = Float64Array.from(values.filter(Number.isFinite)).sort();
  if (!sorted.length) return [-1, 1];
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const span = Math.max(at(0.97) - at(0.03), 0.5);
  const low = Math.max(sorted[0], at(0.03) - 1.5 * span);
  const high = Math.min(sorted[sorted.length - 1], at(0.97) + 1.5 * span);
  const pad = 0.06 * Math.max(high - low, 0.5);
  return [low - pad, high + pad];
}

function placeItems(chart, rows, { difficulty, discrimination, isFar }, marks) {
  chart.rows = rows;
  chart.marks = marks;
  chart.values = { difficulty, discrimination };
  chart.lane = rows.filter((row) => !isOnMap(chart, row));
  chart.across = limitsOf(rows.filter((row) => !isFar(row)).map((row) => difficulty[row]));
  chart.up = limitsOf(rows.map((row) => discrimination[row]));
  drawChart(chart);
}

// What all or none solved has no discrimination, and what nobody was asked no place at all.
function isOnMap({ values }, row) {
  return Number.isFinite(values.difficulty[row]) && Number.isFinite(values.discrimination[row]);
}

function floorOf(chart, height) {
  return height - MARGIN.bottom - (chart.lane.length ? LANE : 0);
}

function drawChart(chart) {
  const { canvas } = chart;
  const width = chart.place.clientWidth;
  const height = chart.place.clientHeight;
  if (!chart.values || width < 80) return;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  const colours = chartColours();
  setPlaces(chart, width, height);
  drawFrame(pen, chart, width, height, colours);
  drawItems(pen, chart, colours);
  chart.items = copyOf(canvas);
  drawChosen(pen, chart, colours);
}

function copyOf(canvas) {
  const made = element("canvas", { width: canvas.width, height: canvas.height });
  made.getContext("2d").drawImage(canvas, 0, 0);
  return made;
}

// Another item is chosen: all others stay as they were drawn.
function markChosen(chart, row) {
  chart.chosen = row;
  if (!chart.items) return;
  const pen = chart.canvas.getContext("2d");
  pen.save();
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, chart.canvas.width, chart.canvas.height);
  pen.drawImage(chart.items, 0, 0);
  pen.restore();
  drawChosen(pen, chart, chartColours());
}

function chartColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ink", "quiet", "line", "accent", "negative", "suspect", "chosen", "paper"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

// Pixels of every shown item; what lies beyond the limits is drawn at the edge.
function setPlaces(chart, width, height) {
  const inside = (share) => Math.min(Math.max(share, 0), 1);
  const [left, right] = chart.across;
  const [low, high] = chart.up;
  chart.x = (value) => MARGIN.left + inside((value - left) / (right - left)) * (width - MARGIN.left - MARGIN.right);
  const floor = floorOf(chart, height);
  chart.y = (value) => floor - inside((value - low) / (high - low)) * (floor - MARGIN.top);
  const lane = placesInLane(chart, MARGIN.left + 6, width - MARGIN.right - 6);
  chart.xs = chart.rows.map((row) => lane.get(row) ?? chart.x(chart.values.difficulty[row]));
  chart.ys = chart.rows.map((row) => (lane.has(row) ? floor + LANE / 2 : chart.y(chart.values.discrimination[row])));
  chart.beyond = chart.rows.map((row) => wayOut(chart, row));
}

// Below the map, the easy side is left and the hard side right; what has neither lies between.
function placesInLane(chart, left, right) {
  const sides = new Map();
  for (const row of chart.lane) {
    const side = chart.values.difficulty[row];
    if (!sides.has(side)) sides.set(side, []);
    sides.get(side).push(row);
  }
  const places = new Map();
  for (const [side, rows] of sides) {
    const step = Math.min(LANE_STEP, (right - left) / 3 / rows.length);
    const first = { "-Infinity": left, Infinity: right, NaN: (left + right - step * (rows.length - 1)) / 2 }[side] ?? chart.x(side);
    rows.forEach((row, k) => places.set(row, first + k * step * (side === Infinity ? -1 : 1)));
  }
  return places;
}

function drawFrame(pen, chart, width, height, colours) {
  const floor = floorOf(chart, height);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  pen.fillStyle = colours.quiet;
  pen.strokeStyle = colours.line;
  pen.lineWidth = 1;
  pen.textAlign = "center";
  for (const value of ticks(...chart.across, 7)) {
    line(pen, chart.x(value), MARGIN.top, chart.x(value), floor);
    pen.fillText(shownNumber(value), chart.x(value), height - MARGIN.bottom + 16);
  }
  pen.fillText(chart.names.difficulty ?? "difficulty", (MARGIN.left + width - MARGIN.right) / 2, height - 6);
  pen.textAlign = "right";
  for (const value of ticks(...chart.up, 6)) {
    line(pen, MARGIN.left, chart.y(value), width - MARGIN.right, chart.y(value));
    pen.fillText(shownNumber(value), MARGIN.left - 5, chart.y(value) + 4);
  }
  if (chart.up[0] < 0 && chart.up[1] > 0) {
    pen.strokeStyle = colours.quiet;
    line(pen, MARGIN.left, chart.y(0), width - MARGIN.right, chart.y(0));
  }
  if (chart.lane.length) {
    line(pen, MARGIN.left, floor, width - MARGIN.right, floor);
    pen.fillText("–", MARGIN.left - 5, floor + LANE / 2 + 4);
  }
  pen.save();
  pen.translate(12, (MARGIN.top + floor) / 2);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "center";
  pen.fillText(chart.names.discrimination ?? "discrimination", 0, 0);
  pen.restore();
}

function line(pen, x1, y1, x2, y2) {
  pen.beginPath();
  pen.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  pen.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
  pen.stroke();
}

// Plain items first, suspects last, so that none of these is covered.
function drawItems(pen, chart, colours) {
  const many = chart.rows.length > 3000;
  const size = many ? 1.8 : 3.2;
  const looks = { plain: colours.accent, negative: colours.negative, suspect: colours.suspect };
  for (const [mark, colour] of Object.entries(looks)) {
    pen.fillStyle = colour;
    pen.globalAlpha = mark === "suspect" ? 1 : many ? 0.45 : 0.7;
    pen.beginPath();
    chart.marks.forEach((kind, k) => {
      if (kind === mark && !chart.beyond[k]) outlineOf(pen, mark, chart.xs[k], chart.ys[k], size);
    });
    pen.fill();
    drawBeyond(pen, chart, mark, colour);
  }
  pen.globalAlpha = 1;
}

// Items beyond the map: arrows at its edge that point to where they are.
function drawBeyond(pen, chart, mark, colour) {
  pen.strokeStyle = colour;
  pen.lineWidth = 1.6;
  pen.beginPath();
  chart.beyond.forEach((way, k) => {
    if (!way || chart.marks[k] !== mark) return;
    const [x, y, r] = [chart.xs[k], chart.ys[k], 4];
    const [dx, dy] = way;
    pen.moveTo(x - r * dx - r * dy, y - r * dy - r * dx);
    pen.lineTo(x, y);
    pen.lineTo(x - r * dx + r * dy, y - r * dy + r * dx);
  });
  pen.stroke();
}

// The way to an item outside the limits, to the side first; null for all others.
function wayOut(chart, row) {
  if (!isOnMap(chart, row)) return null;
  const out = (value, [low, high]) => (value < low ? -1 : value > high ? 1 : 0);
  const across = out(chart.values.difficulty[row], chart.across);
  const up = out(chart.values.discrimination[row], chart.up);
  if (across) return [across, 0];
  return up ? [0, -up] : null;
}

// Shapes differ as well as colours: dot, triangle that points down, diamond.
function outlineOf(pen, mark, x, y, size) {
  if (mark === "plain") {
    pen.moveTo(x + size, y);
    pen.arc(x, y, size, 0, 2 * Math.PI);
    return;
  }
  const r = size * 1.6;
  const corners = mark === "negative"
    ? [[-r, -r * 0.8], [r, -r * 0.8], [0, r]]
    : [[0, -r * 1.3], [r * 1.1, 0], [0, r * 1.3], [-r * 1.1, 0]];
  corners.forEach(([dx, dy], k) => (k ? pen.lineTo(x + dx, y + dy) : pen.moveTo(x + dx, y + dy)));
  pen.closePath();
}

function drawChosen(pen, chart, colours) {
  const k = chart.rows.indexOf(chart.chosen);
  if (k < 0) return;
  pen.strokeStyle = colours.chosen;
  pen.lineWidth = 2.5;
  pen.beginPath();
  pen.arc(chart.xs[k], chart.ys[k], 9, 0, 2 * Math.PI);
  pen.stroke();
}

// The item nearest to a place on the canvas, if one is near.
function itemNear(chart, x, y) {
  let best = null;
  let nearest = REACH * REACH;
  chart.xs.forEach((at, k) => {
    const distance = (at - x) ** 2 + (chart.ys[k] - y) ** 2;
    if (distance < nearest) [best, nearest] = [chart.rows[k], distance];
  });
  return best;
}
