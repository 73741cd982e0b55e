// Tables: sorted by their headings, searched, paged, and saved as CSV.

const ROWS_ON_A_PAGE = 12;
const ROWS_ON_PAPER = 12; // of a longer table; the page and its CSV hold all
const WHOLE_ON_PAPER = 15; // rows of a table that is printed whole
const NAMES_IN_A_CELL = 2;
const NAMES_OF_MODELS = ["respondent", "other"]; // columns
const SHORT = 28; // signs that a cell keeps on one line
const LONG = 90; // more does not fit on three lines of a cell
const WHOLE = 40; // signs of a word that never breaks

// On paper a column is as wide as its longest word. What does not fit is set smaller, then in parts.
const PAPER = { width: 520, sizes: [7.5, 6.5, 5.5], inParts: 6.5 }; // points
const SIGN = 0.64; // width of a sign, in units of the font's size
const PADDING = 0.8; // of a cell, left and right
const SENTENCE = 14; // the least width of a cell with several words

// On which scale a name leads to an item or a model, if any, and what opens it there. The explorer sets those of
// items, the page of one model those of respondents.
const items = { scaleOf: () => null, open: () => {} };
const respondents = { scaleOf: () => null, open: () => {} };

function makeTable(place, table, options = {}) {
  const state = { table, columns: shownColumns(table), sort: null, down: false, words: "", page: 0, rows: [], ...options };
  const parts = tableParts(state);
  place.replaceChildren(parts.tools, parts.scroll, parts.pager, parts.unprinted, ...remarksOn(table));
  const show = () => {
    state.rows = orderedRows(state);
    fillRows(state, parts);
  };
  parts.search.addEventListener("input", () => {
    state.words = parts.search.value.trim().toLowerCase();
    state.page = 0;
    show();
  });
  parts.csv.addEventListener("click", () => saveCsv(state));
  parts.before.addEventListener("click", () => turn(state, parts, -1));
  parts.after.addEventListener("click", () => turn(state, parts, 1));
  parts.heads.forEach((head, k) => head.firstChild.addEventListener("click", () => {
    sortBy(state, parts, k);
    show();
  }));
  show();
  const made = { show, state, parts };
  place.onPaper = (printed) => {
    if (printed) parts.scroll.replaceChildren(...printedGrids(state));
    else parts.scroll.replaceChildren(parts.grid);
  };
  return made;
}

function tableParts(state) {
  const { caption } = state.table;
  const search = element("input", { type: "search", autocomplete: "off" });
  search.setAttribute("aria-label", `Search in ${caption}`);
  search.placeholder = "Search";
  const csv = element("button", { type: "button", textContent: "CSV" });
  csv.setAttribute("aria-label", `Save ${caption} as CSV`);
  const count = element("p", { className: "count", role: "status" });
  const heads = state.columns.map((shown) => element(
    "th",
    { scope: "col", className: shown.column.kind === "number" ? "number" : "" },
    [element("button", { type: "button", textContent: shown.name, title: explained(state.table, shown) })],
  ));
  const body = element("tbody");
  const grid = element("table", {}, [element("thead", {}, [element("tr", {}, heads)]), body]);
  grid.setAttribute("aria-label", caption);
  const scroll = element("div", { className: "scroll" }, [grid]);
  watchWidth(scroll, `${caption}, table`);
  const before = element("button", { type: "button", textContent: "Previous" });
  const after = element("button", { type: "button", textContent: "Next" });
  before.setAttribute("aria-label", `Previous rows of ${caption}`);
  after.setAttribute("aria-label", `Next rows of ${caption}`);
  const where = element("span");
  const pager = element("div", { className: "pager" }, [before, where, after]);
  const unprinted = element("p", { className: "about on-paper" });
  const title = element("strong", { textContent: caption });
  const tools = element("div", { className: "tools" }, [title, search, csv, count]);
  return { tools, scroll, grid, pager, unprinted, search, csv, count, heads, body, before, after, where };
}

// What a reader must know to read the numbers.
function remarksOn(table) {
  const far = table.columns.some((column) => column.kind === "number" && column.values.some((_, row) => ![null, UNTOLD].includes(farOut(table, column, row))));
  return far ? [element("p", { className: "about", textContent: BEYOND })] : [];
}

function orderedRows(state) {
  const all = state.chosenRows ? state.chosenRows() : [...Array(rowsOf(state.table)).keys()];
  const found = state.words ? all.filter((row) => textOfRow(state, row).includes(state.words)) : [...all];
  if (state.sort === null) return found;
  const { column } = state.columns[state.sort];
  const sign = state.down ? -1 : 1;
  return found.sort((a, b) => compared(valueAt(column, a), valueAt(column, b), sign) || a - b);
}

// What is missing comes last, whichever way the rest is sorted.
function compared(one, other, sign) {
  const lacking = (value) => value === null || value === "" || Number.isNaN(value);
  if (lacking(one) || lacking(other)) return lacking(one) - lacking(other);
  if (typeof one === "string") return sign * one.localeCompare(other, "en", { numeric: true });
  return sign * (one - other);
}

function textOfRow(state, row) {
  state.texts ??= [];
  state.texts[row] ??= state.table.columns.map((column) => shownValue(column, row)).join("\n").toLowerCase();
  return state.texts[row];
}

function sortBy(state, parts, k) {
  const number = state.columns[k].column.kind !== "text";
  state.down = state.sort === k ? !state.down : number;
  state.sort = k;
  state.page = 0;
  parts.heads.forEach((head) => head.removeAttribute("aria-sort"));
  parts.heads[k].setAttribute("aria-sort", state.down ? "descending" : "ascending");
}

function turn(state, parts, step) {
  state.page += step;
  fillRows(state, parts);
}

function fillRows(state, parts) {
  const pages = Math.max(1, Math.ceil(state.rows.length / ROWS_ON_A_PAGE));
  state.page = Math.min(Math.max(state.page, 0), pages - 1);
  const from = state.page * ROWS_ON_A_PAGE;
  const shown = state.rows.slice(from, from + ROWS_ON_A_PAGE);
  parts.body.replaceChildren(...shown.map((row) => madeRow(state, row)));
  const whole = rowsOf(state.table);
  const some = state.rows.length === whole ? "" : ` of ${whole.toLocaleString("en")}`;
  parts.count.textContent = `${state.rows.length.toLocaleString("en")}${some} ${whole === 1 ? "row" : "rows"}`;
  parts.pager.hidden = pages === 1;
  const rest = state.rows.length - rowsOnPaper(state).length;
  parts.unprinted.textContent = rest > 0 ? `${counted(rest, "more row")}: on the page, which saves all as ${state.table.file}.` : "";
  parts.where.textContent = `Page ${(state.page + 1).toLocaleString("en")} of ${pages.toLocaleString("en")}`;
  parts.before.disabled = state.page === 0;
  parts.after.disabled = state.page === pages - 1;
}

function rowsOnPaper({ rows }) {
  return rows.length > WHOLE_ON_PAPER ? rows.slice(0, ROWS_ON_PAPER) : rows;
}

// The rows on paper: one table, or several with the same rows and some of the columns each.
function printedGrids(state) {
  const rows = rowsOnPaper(state);
  const widths = state.columns.map((column) => widthOnPaper(column, rows));
  const whole = widths.reduce((sum, width) => sum + width, 0);
  const size = PAPER.sizes.find((points) => whole * points <= PAPER.width) ?? PAPER.inParts;
  const parts = columnParts(state.columns, widths, PAPER.width / size);
  return parts.flatMap((columns, k) => {
    const some = parts.length > 1 ? `, part ${k + 1} of ${parts.length} of its columns` : "";
    const heads = columns.map(({ column, name }) => element("th", { scope: "col", className: column.kind === "number" ? "number" : "" }, wholeWords(name)));
    const body = element("tbody", {}, rows.map((row) => madeRow(state, row, columns)));
    const grid = element("table", {}, [element("thead", {}, [element("tr", {}, heads)]), body]);
    grid.setAttribute("aria-label", `${state.table.caption}${some}`);
    grid.style.fontSize = `${size}pt`;
    return some ? [element("p", { className: "about", textContent: `${state.table.caption}${some}` }), grid] : [grid];
  });
}

// In units of the font's size.
function widthOnPaper({ column, name, text }, rows) {
  const texts = rows.map(text);
  const unbroken = texts.map((words) => (isWhole(column, words) ? words.replaceAll(" ", "_") : words));
  const longest = Math.max(...[name, ...unbroken].flatMap((words) => words.split(/\s+/).map((word) => Math.min(word.length, WHOLE))));
  const sentences = column.kind !== "number" && texts.some((words) => words.length > SHORT);
  return PADDING + Math.max(SIGN * longest, sentences ? SENTENCE : 0);
}

// A number with its error stays on one line, and so does a short name; an interval may go on to the next.
function isWhole(column, text) {
  if (NAMES_OF_MODELS.includes(column.name)) return text.length <= SHORT;
  return column.kind === "number" && !/\(| to /.test(text);
}

// Columns that fit side by side, each part with the names of the rows first.
function columnParts(columns, widths, width) {
  const numbers = columns.findIndex(({ column }) => column.kind === "number");
  const named = numbers < 0 ? 1 : Math.min(Math.max(numbers, 1), 2);
  const taken = widths.slice(0, named).reduce((sum, one) => sum + one, 0);
  const parts = [];
  let left = 0;
  columns.slice(named).forEach((column, k) => {
    if (!parts.length || widths[named + k] > left) {
      parts.push(columns.slice(0, named));
      left = width - taken;
    }
    parts[parts.length - 1].push(column);
    left -= widths[named + k];
  });
  return parts.length ? parts : [columns];
}

// Words with their hyphens: names of models must not break there.
function wholeWords(text) {
  const words = text.split(/(\s+)/);
  return words.map((word) => (/-/.test(word) && word.length <= WHOLE ? element("span", { className: "whole", textContent: word }) : word));
}

function madeRow(state, row, columns = state.columns) {
  const cells = columns.map(({ column, text }) => {
    const shown = text(row);
    const names = namesIn(shown);
    const look = shown.length <= SHORT || names ? "short" : "";
    const cell = element("td", { className: column.kind === "number" ? "number" : look });
    if (isWhole(column, shown)) cell.classList.add("whole");
    if (shown.split(/\s+/).some((word) => word.length > WHOLE)) cell.classList.add("breaks");
    if (column.name === "item") cell.append(...pictureOf(state, valueAt(column, row)), ...itemCell(state, column, row));
    else if (NAMES_OF_MODELS.includes(column.name)) cell.append(...respondentLink(shown, scaleOfRow(state, row)));
    else if (names) cell.append(...shortList(names, column.name.replaceAll("_", " ")));
    else if (shown.length > LONG) cell.append(longText(shown));
    else cell.append(...wholeWords(shown));
    return cell;
  });
  return element("tr", { className: state.marked && state.marked(row) ? "chosen" : "" }, cells);
}

// The scale that a row is about: that of its table, of its data set, or of its section; null for all of them.
function scaleOfRow(state, row) {
  const dataset = columnOf(state.table, "dataset");
  return state.scale ?? ((dataset && valueAt(dataset, row)) || state.table.scale || null);
}

// Names in a cell, where there are more than a few.
function namesIn(text) {
  const names = text.length > SHORT ? text.split(", ") : [];
  return names.length > NAMES_IN_A_CELL && names.every((name) => name.length <= 40 && !/[.?!] /.test(name)) ? names : null;
}

// The first names; the others when they are asked for.
function shortList(names, what) {
  const rest = element("span", { className: "rest folded" }, wholeWords(`, ${names.slice(NAMES_IN_A_CELL).join(", ")}`));
  const count = names.length - NAMES_IN_A_CELL;
  const more = element("button", { type: "button", className: "more", textContent: `+${count} more` });
  more.setAttribute("aria-expanded", "false");
  more.setAttribute("aria-label", `${count} more names, ${what}`);
  more.addEventListener("click", () => {
    const folded = rest.classList.toggle("folded");
    more.setAttribute("aria-expanded", String(!folded));
    more.textContent = folded ? `+${count} more` : "fewer";
  });
  return [...wholeWords(names.slice(0, NAMES_IN_A_CELL).join(", ")), rest, " ", more];
}

// What is wider than its place says so, and can be reached by keys.
function watchWidth(place, name) {
  const look = () => {
    const hidden = place.scrollWidth - place.clientWidth;
    const wide = hidden > 1;
    place.classList.toggle("more-left", wide && place.scrollLeft > 1);
    place.classList.toggle("more-right", wide && place.scrollLeft < hidden - 1);
    if (wide === place.hasAttribute("tabindex")) return;
    const marks = { tabindex: "0", role: "group", "aria-label": name };
    for (const [key, value] of Object.entries(marks)) wide ? place.setAttribute(key, value) : place.removeAttribute(key);
  };
  place.addEventListener("scroll", look, { passive: true });
  const watch = new ResizeObserver(look);
  watch.observe(place);
  if (place.firstElementChild) watch.observe(place.firstElementChild);
}

// Long text takes a few lines, and all of them while it is pointed at or has the focus.
function longText(text) {
  return element("div", { className: "long", tabIndex: 0, textContent: text });
}

// The name of an item that the explorer knows leads there.
function itemCell(state, column, row) {
  const name = valueAt(column, row);
  const parts = linkTo("item", items, name, scaleOfRow(state, row));
  return parts ?? [shownValue(column, row)];
}

function pictureOf(state, name) {
  const address = state.picture?.(name);
  return address ? [element("img", { className: "thumb", src: address, alt: `Picture of ${name}` })] : [];
}

// The name of a respondent that has a page leads there.
function respondentLink(name, scale) {
  return linkTo("model", respondents, name, scale) ?? wholeWords(name);
}

// A name as a link with an address of its own, so that it also opens in another tab.
function linkTo(kind, known, name, scale) {
  const place = known.scaleOf(name, scale);
  if (place === null) return null;
  const link = element("a", { className: "link", href: addressFor(kind, place, name) }, wholeWords(name));
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return; // the browser opens another tab
    event.preventDefault();
    known.open(name, place);
  });
  return [link];
}

function saveCsv(state) {
  const quoted = (value) => {
    const plain = value === null || value === undefined ? "" : String(value);
    // A spreadsheet runs such texts; an apostrophe says that they are none of its formulas.
    const formula = typeof value === "string" && /^'*[=+\-@\t\r\n＝＋－＠]/.test(value);
    const text = formula ? `'${plain}` : plain;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [state.table.columns.map((column) => quoted(column.name)).join(",")];
  for (const row of state.rows) {
    lines.push(state.table.columns.map((column) => quoted(valueAt(column, row))).join(","));
  }
  const address = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
  const link = element("a", { href: address, download: state.table.file });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
