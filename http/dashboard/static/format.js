// Figures and moments as the page writes them. A value that nobody told is a dash, never zero.
const rupees = new Intl.NumberFormat("en-IN", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const units = new Intl.NumberFormat("en-IN", { maximumFractionDigits: 4 });
const clock = new Intl.DateTimeFormat("en-GB", { timeZone: "Asia/Kolkata", hour: "2-digit", minute: "2-digit", second: "2-digit" });

export const NOTHING = "–";

export const money = (value) => (typeof value === "number" ? rupees.format(value) : NOTHING);
export const number = (value) => (typeof value === "number" ? units.format(value) : NOTHING);
export const word = (value) => (value === null || value === undefined || value === "" ? NOTHING : String(value));

/** The colour of a result. */
export const sign = (value) => (typeof value !== "number" || value === 0 ? "" : value > 0 ? "good" : "bad");

/** Milliseconds since the epoch of a moment that the service writes without an offset: it is India time. */
export const moment = (text) => (text ? Date.parse(/([+-]\d\d:\d\d|Z)$/.test(text) ? text : `${text}+05:30`) : NaN);

/** India time of day, of milliseconds since the epoch. */
export const time = (milliseconds) => (Number.isFinite(milliseconds) ? clock.format(milliseconds) : NOTHING);

/** An age in seconds, as people say it. */
export function age(seconds) {
  if (!Number.isFinite(seconds)) return NOTHING;
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

/** The name of a row's instrument: ours, or the broker's where no instrument is known. */
export function instrument(row) {
  if (row.symbol) return row.symbol;
  if (row.underlying_symbol) return [row.underlying_symbol, row.expiry_date, row.strike_price, row.option_type].filter((part) => part !== null && part !== undefined).join(" ");
  const known = row.tradingsymbol ?? row.by_broker?.[0]?.tradingsymbol;
  return word(known);
}
