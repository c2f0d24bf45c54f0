// Rows of a table: found by words, and saved as a file for spreadsheets.

/** Whether a row has all words that were typed, in any order. */
export const hasWords = (row, names, words) => {
  const text = names.map((name) => row[name] ?? "").join(" ").toLowerCase();
  return words.trim().toLowerCase().split(/\s+/).every((each) => text.includes(each));
};

/** A field of the file. A text that begins like a formula would be one in a spreadsheet. */
function field(value) {
  const text = value === null || value === undefined ? "" : String(value);
  return `"${(typeof value === "string" && /^[=+\-@\t]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}

/** Save rows, a line each, under the names of `columns`. */
export function save(name, columns, rows) {
  const lines = [columns.join(","), ...rows.map((row) => columns.map((column) => field(row[column])).join(","))];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.join("\r\n")], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
