// The data of the page, read once, and small helpers. Text from the data only ever becomes text:
// elements are made by name, and filled through textContent.

const DATA = JSON.parse(document.getElementById("data").textContent);

function element(name, properties = {}, children = []) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

function columnOf(table, name) {
  return table.columns.find((column) => column.name === name);
}

function rowsOf(table) {
  return table.columns.length ? table.columns[0].values.length : 0;
}

// A cell as it is: number, flag, text, or null for what is missing.
function valueAt(column, row) {
  const value = column.values[row];
  if (column.levels) return column.levels[value];
  if (column.kind === "number" && value !== null) return Number(value);
  return value;
}

// A response as it was given; seven digits are what single precision keeps.
function shownResponse(value) {
  const text = value.toLocaleString("en", { maximumSignificantDigits: 7 });
  return text.replace("-", "−");
}

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k += 1) bytes[k] = text.charCodeAt(k);
  return bytes;
}

function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
