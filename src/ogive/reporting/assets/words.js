// What columns mean: the same words as in Python, by which headings are explained.

function meaningOf(column, caption = "") {
  const { columns, tables, endings } = DATA.words ?? { columns: {}, tables: {}, endings: {} };
  const own = tables[caption.toLowerCase()]?.[column] ?? columns[column];
  if (own) return own;
  const ending = Object.keys(endings).find((one) => column.endsWith(one) && column !== one);
  return ending ? endings[ending].replace("{}", column.slice(0, -ending.length).replaceAll("_", " ")) : "";
}

// What a heading says when it is pointed at or has the focus.
function explained(table, { column, name }) {
  if (column.title) return "";
  const said = meaningOf(column.name, table.words ?? table.caption);
  if (!said) return "";
  if (name.endsWith(" interval")) return said.replace("Lower end of the interval", "The interval"); // it shows both ends
  return name.endsWith("± SE") ? `${said} With its standard error.` : said;
}
