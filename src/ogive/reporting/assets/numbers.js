// Numbers as people read them: as exact as their standard error, else as their column allows.
// The same rules as with_reach in Python, and a test compares the two.

const FINEST = 4; // decimals of a number whose error is unknown
const ERRORS = "_se";

function grouped(value, decimals) {
  const text = Math.abs(value).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return value < 0 && /[1-9]/.test(text) ? `−${text}` : text;
}

function unusual(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  return null;
}

// A number with so many decimals; what is not zero is not shown as zero.
function shownTo(value, decimals) {
  const odd = unusual(value);
  if (odd !== null) return odd;
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return grouped(value, 0);
  const least = 10 ** -decimals;
  if (value !== 0 && Math.abs(value) < least / 2) return value > 0 ? `<${grouped(least, decimals)}` : `>−${grouped(least, decimals)}`;
  return grouped(value, decimals);
}

// A single number: four digits.
function shownNumber(value) {
  if (unusual(value) !== null || Number.isInteger(value)) return shownTo(value, 0);
  const decimals = Math.min(Math.max(3 - Math.floor(Math.log10(Math.abs(value))), 0), FINEST);
  return shownTo(value, decimals).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

// Decimals to the second digit of a standard error.
function decimalsOf(error) {
  if (!(error > 0) || !Number.isFinite(error)) return FINEST;
  return Math.min(Math.max(1 - Math.floor(Math.log10(error)), 0), 12);
}

function withError(value, error) {
  if (unusual(value) !== null || unusual(error) !== null || error === 0) return shownNumber(value);
  const nothing = 10 ** -FINEST / 2;
  if (error < nothing && Math.abs(value) < nothing) return shownTo(value, FINEST);
  const decimals = decimalsOf(error);
  const uncertain = `± ${grouped(error, decimals)}`;
  if (Math.abs(value) < 10 ** -decimals / 2 && decimals > FINEST) return `0 ${uncertain.replace(/0+$/, "")}`;
  return `${grouped(value, decimals)} ${uncertain}`;
}

// An estimate with its interval, as exact as the interval is wide.
function withEnds(value, low, high) {
  if ([value, low, high].some((one) => unusual(one) !== null)) return shownNumber(value);
  const decimals = Math.min(decimalsOf((high - low) / 4), FINEST);
  const [shown, least, most] = [value, low, high].map((one) => grouped(one, decimals));
  return `${shown} (${least} to ${most})`;
}

// Decimals of a whole column: three digits of a usual value, so that its numbers can be compared.
function decimalsOfColumn(values) {
  const sizes = values.map((value) => Math.abs(Number(value ?? NaN)))
    .filter((size) => Number.isFinite(size) && size > 1e-9).sort((a, b) => a - b);
  if (!sizes.length) return values.some((value) => Number(value ?? 0) % 1) ? FINEST : 0; // all next to nothing
  const usual = sizes[Math.floor(sizes.length / 2)];
  return Math.min(Math.max(2 - Math.floor(Math.log10(usual)), 0), FINEST);
}

const isProbability = (name) => name === "p" || name.startsWith("p_") || name.endsWith("_p") || name.includes("_p_");

function shownProbability(value) {
  return unusual(value) ?? (value < 0.001 ? "<0.001" : grouped(value, 3));
}

// The columns of a table as they are shown: an estimate with its error and interval, none empty.
function shownColumns(table) {
  const named = new Map(table.columns.map((column) => [column.name, column]));
  const before = new Map(table.columns.map((column, k) => [column.name, table.columns[k - 1]]));
  const owner = ownerOfEnds(table.columns);
  const owned = new Set();
  const parts = new Map();
  for (const column of table.columns.filter((one) => one.kind === "number")) {
    const error = named.get(column.name + ERRORS) ?? (ownsError(before, column) ? named.get("se") : undefined);
    const ends = ["low", "high"].map((end) => named.get(`${column.name}_${end}`) ?? (column === owner ? named.get(end) : undefined));
    const whole = ends.every(Boolean) ? ends : null;
    for (const one of [error, ...(whole ?? [])].filter(Boolean)) owned.add(one);
    parts.set(column, { error, ends: whole });
  }
  return table.columns.filter((column) => !owned.has(column) && !isIdle(column) && column.values.some((value, row) => isKnown(column, row)))
    .flatMap((column) => shownParts(table, column, parts.get(column) ?? {}));
}

// "se" without a name belongs to the estimate right before it; that of information is the ability's.
function ownsError(before, column) {
  return before.get("se") === column && column.name !== "information";
}

function isKnown(column, row) {
  const value = valueAt(column, row);
  return value !== null && value !== undefined && value !== "" && !Number.isNaN(value);
}

// "low" and "high" without a name belong to the estimate before them that lies between them.
function ownerOfEnds(columns) {
  const [low, high] = ["low", "high"].map((name) => columns.find((one) => one.name === name));
  if (!low || !high) return null;
  const between = (column) => column.values.every((_, row) => {
    if (![low, column, high].every((one) => isKnown(one, row))) return true;
    const [least, value, most] = [low, column, high].map((one) => valueAt(one, row));
    return value >= least - 1e-6 * Math.abs(least) && value <= most + 1e-6 * Math.abs(most);
  });
  const before = columns.slice(0, columns.indexOf(low)).filter((one) => one.kind === "number" && one.name !== "se" && !one.name.endsWith(ERRORS));
  return before.reverse().find(between) ?? null;
}

// Asymptotes that the model does not have are zero everywhere.
function isIdle(column) {
  return /^(guessing|slip)(_se)?$/.test(column.name) && column.values.every((value) => !value);
}

// Difficulties that no respondent comes near: the items are too hard, too easy, or hardly tell anybody apart.
const FARTHEST = 6;
const UNTOLD = "–"; // a side of the scale without a number: of what all or none solved
const BEYOND = `Difficulties beyond ±${FARTHEST} are not given exactly: no respondent is near them, because an item is answered alike by (nearly) all or has a flat curve.`;

// How a difficulty far out is shown; null if it is shown as it is.
function farOut(table, column, row) {
  column.far ??= columnOf(table, "discrimination") ? farOf(column) : () => null; // found once for a column
  return column.far(valueAt(column, row));
}

function farOf(column) {
  if (!/^difficulty(_\d+)?$/.test(column.name) || column.kind !== "number") return () => null;
  const untold = (value) => (Math.abs(value) === Infinity ? UNTOLD : null);
  const sizes = column.values.map((value) => Math.abs(Number(value ?? NaN))).filter(Number.isFinite).sort((a, b) => a - b);
  if (!(sizes[Math.floor(sizes.length / 5)] <= FARTHEST)) return untold; // a scale of another unit
  return (value) => untold(value) ?? (Math.abs(value) > FARTHEST ? (value > 0 ? `> ${FARTHEST}` : `< −${FARTHEST}`) : null);
}

function shownParts(table, column, { error, ends }) {
  const name = column.title ?? column.name.replaceAll("_", " "); // names of models stay as they are
  if (column.kind !== "number") return [{ column, name, text: (row) => shownPlain(column, row) }];
  const at = (one, row) => valueAt(one, row);
  const plain = error || ends ? null : numberText(column);
  if (plain) return [{ column, name, text: (row) => farOut(table, column, row) ?? plain(row) }];
  if (!error) return [{ column, name: `${name} (interval)`, text: intervalText(column, ends) }];
  const estimate = { column, name: `${name} ± SE`, text: (row) => farOut(table, column, row) ?? withError(at(column, row), at(error, row)) };
  if (!ends) return [estimate];
  const usual = decimalsOfColumn(column.values); // where no error says how many
  const decimals = (row) => (at(error, row) > 0 ? Math.min(decimalsOf(at(error, row)), FINEST) : usual);
  const text = (row) => ends.map((end) => shownTo(at(end, row), decimals(row))).join(" to ");
  return [estimate, { column: ends[0], name: `${name} interval`, text }];
}

function numberText(column) {
  if (isProbability(column.name)) return (row) => shownProbability(valueAt(column, row));
  const decimals = decimalsOfColumn(column.values);
  return (row) => shownTo(valueAt(column, row), decimals);
}

function intervalText(column, ends) {
  const decimals = decimalsOfColumn(column.values);
  const shown = (one, row) => shownTo(valueAt(one, row), decimals);
  return (row) => (isKnown(column, row) ? `${shown(column, row)} (${shown(ends[0], row)} to ${shown(ends[1], row)})` : "–");
}

function shownPlain(column, row) {
  const value = valueAt(column, row);
  if (value === null || value === "") return "–";
  if (column.kind === "flag") return value ? "yes" : "no";
  return value;
}

function shownValue(column, row) {
  return column.kind === "number" ? shownNumber(valueAt(column, row)) : shownPlain(column, row);
}
