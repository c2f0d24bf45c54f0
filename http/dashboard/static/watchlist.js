// The instruments that a reader watches: a row for each with its last price. The list is kept in this browser; it holds no figure and no token.
import { html } from "/dashboard/preact-htm.js";
import { age, instrument, money, number, sign } from "/dashboard/format.js";
import { marks } from "/dashboard/freshness.js";
import { known, now } from "/dashboard/store.js";

const KEY = "onebroker-watched";
export const MOST_WATCHED = 200;
const FIELDS = ["instrument_id", "symbol", "underlying_symbol", "expiry_date", "strike_price", "option_type", "segment", "lot_size", "tick_size"];

/** The watched instruments, as find answers them. What another version or person wrote and is no list counts as none. */
export function watched() {
  try {
    const rows = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(rows) ? rows.filter((row) => typeof row?.instrument_id === "string").slice(0, MOST_WATCHED) : [];
  } catch {
    return [];
  }
}

const keep = (rows) => {
  try {
    localStorage.setItem(KEY, JSON.stringify(rows));
  } catch {
    // a browser that keeps nothing: the list lasts as long as the page
  }
  return rows;
};

export const added = (rows, row) => keep([Object.fromEntries(FIELDS.map((name) => [name, row[name] ?? null])), ...rows.filter((one) => one.instrument_id !== row.instrument_id)].slice(0, MOST_WATCHED));
export const removed = (rows, row) => keep(rows.filter((one) => one.instrument_id !== row.instrument_id));

export function Watchlist({ rows, chosen, choose, remove }) {
  if (!rows.length) return html`<p class="quiet">Find an instrument; it stays in this list.</p>`;
  return html`<div class="wide"><table id="watchlist"><caption class="hidden">Watched instruments</caption><thead><tr>
      <th>Instrument</th><th class="number">Last, ₹</th><th class="number">Change, %</th><th class="number">Age</th><th><span class="hidden">Actions</span></th></tr></thead>
    <tbody>${rows.map((row) => html`<${Row} key=${row.instrument_id} row=${row} isChosen=${row.instrument_id === chosen?.instrument_id} choose=${choose} remove=${remove} />`)}</tbody></table></div>`;
}

function Row({ row, isChosen, choose, remove }) {
  const quote = known.quotes.get(row.instrument_id);
  const part = quote?.stale ? { status: "stale", as_of: null } : null;
  return html`<tr data-id=${row.instrument_id}>
    <th scope="row"><button type="button" aria-pressed=${isChosen} onClick=${() => choose(row)}>${instrument(row)}</button> <span class="quiet">${row.segment}</span></th>
    <td ...${marks(part)} data-received=${quote?.received_at}>${money(quote?.last_price)}</td>
    <td ...${marks(part, sign(quote?.change_percent))}>${number(typeof quote?.change_percent === "number" ? Math.round(quote.change_percent * 100) / 100 : null)}</td>
    <td class="number quiet">${quote?.stale ? html`<span class="warn">${quote.stale_since ? `stale, ${age(now() / 1000 - quote.stale_since)}` : "no price yet"}</span>` : age(quote ? now() / 1000 - quote.received_at : NaN)}</td>
    <td><button type="button" onClick=${() => remove(row)}>Remove<span class="hidden"> ${instrument(row)}</span></button></td></tr>`;
}
