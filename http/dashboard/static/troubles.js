// What a flatten or a close has not read, not believed or not done, and what a person does about it. Pure: an answer or its dry run in, sentences out.
import { instrument, number } from "/dashboard/format.js";

/** What the screen calls things: by its documents, and by the answer itself where they have no such row. */
export function namesOf(answer, { net, orders, parents, health }) {
  const rows = new Map(); // nameOf -> instrument and product
  for (const row of [...(answer.would_close ?? []), ...(answer.closed ?? []), ...(answer.positions_doubted ?? [])]) rows.set(nameOf(row), `${row.tradingsymbol} ${row.product}`);
  for (const row of net ?? []) for (const part of row.by_broker) rows.set(nameOf(part), `${instrument(row)} ${row.product}`);
  return {
    /** A row of the answer, without its broker. */
    row: (row) => rows.get(nameOf(row)),
    /** A position of which the answer gives `broker:position_key`. */
    position: (name) => (rows.has(name) ? `${rows.get(name)} at ${split(name)[0]}` : name),
    order: (broker, id) => {
      const row = orders.get(`${broker} ${id}`);
      return row ? `${row.transaction_type} ${number(row.quantity)} ${instrument(row)} (${id})` : `order ${id}`;
    },
    parent: (id) => {
      const row = parents.get(id);
      return row ? `${row.routed_from ?? row.synthetic_type} ${id}` : id;
    },
    remedy: (broker) => remedy(broker, health?.brokers),
  };
}

/** What a person does about a broker that is not read. `brokers`: those of the health. */
function remedy(broker, brokers) {
  if (!brokers || brokers[broker]?.login === "live") return "Look at its own app.";
  if (!(broker in brokers)) return "The settings leave it out: put it into the settings again, or look at its own app.";
  return brokers[broker].login === "login needed" ? "It has no login: give it one on the page Brokers." : "It has no login yet: ask again in a moment, or look at its own app.";
}

/** Both figures of a position whose row and fills do not agree, and since when. `what`: its instrument and product. */
export const doubtWords = (broker, row, what) =>
  `${broker} shows ${number(row.shown)} units of ${what}, but by its orders it holds ${number(row.by_fills)}, since ${row.since.slice(11, 19)}. Look at the position in its own app until they agree.`;

/** Whether a flatten does not close a row of its dry run, and why. */
export const whyNotClosed = (row) => (row.segment === null ? "its instrument is not known" : row.close_quantity === null ? "its units are not known" : null);

/** The sentences about an answer of flatten or close, or about its dry run, the worst first. */
export function troublesOf(answer, names) {
  const word = answer.closes ? "CLOSE" : "FLATTEN";
  const doing = answer.dry_run ? unclosable(answer, names) : [...orders(answer, names, word), ...positions(answer, names, word)];
  return once([...halting(answer, names, word), ...reading(answer, names), ...doing]);
}

function halting({ halted }, names, word) {
  return [
    ...(halted?.error ? [`The plans of the engine were not halted and may send more orders: ${halted.error}. Press ${word} again.`] : []),
    ...(halted?.partly ?? []).map((id) => `${names.parent(id)} also works outside of this and goes on: see the page Parents.`),
  ];
}

function reading(answer, names) {
  const isBefore = answer.dry_run === true;
  return [
    ...(answer.brokers_not_read ?? []).map((broker) => `${broker} ${isBefore ? "cannot be read: its orders and positions are not in this list" : "could not be read: it may have open orders and positions"}. ${names.remedy(broker)}`),
    ...(answer.positions_not_readable ?? []).map((one) => `Some positions of ${one.broker} ${isBefore ? "cannot be read and are not in this list" : "could not be read and may be open"}${because(one.status_message)}. Look at its own app.`),
    ...(answer.positions_doubted ?? []).map((row) => doubtWords(row.broker, row, names.row(row))),
    ...(answer.trades_not_read ?? []).map((name) => `Not all trades of ${names.position(name)} are known: look whether the units of the tag are closed.`),
  ];
}

const unclosable = (answer, names) => answer.would_close.filter(whyNotClosed)
  .map((row) => `${names.position(nameOf(row))} is not closed from here: ${whyNotClosed(row)}. Close it in the broker's own app.`);

function orders(answer, names, word) {
  const open = new Set(answer.still_open_after_waiting ?? []);
  const cancels = new Map((answer.cancelled ?? []).map((each) => [`${each.broker}:${each.order_id}`, each]));
  const unsent = [...cancels].filter(([name, each]) => !each.sent && !open.has(name));
  return [
    ...[...open].map((name) => {
      const [broker, id] = split(name);
      return `${capital(names.order(broker, id))} at ${broker} is still open${because(cancels.get(name)?.status_message)}. Cancel it on the page Orders, or press ${word} again.`;
    }),
    ...unsent.map(([, each]) => `The cancel of ${names.order(each.broker, each.order_id)} at ${each.broker} was not sent${because(each.status_message)}. Look whether it is still open on the page Orders.`),
    ...(answer.not_shown_after_waiting ?? []).map((row) => `${row.transaction_type} ${number(row.quantity)} ${row.tradingsymbol} at ${row.broker}: ${row.status_message}. Look for it in the broker's own app.`),
  ];
}

function positions(answer, names, word) {
  const open = new Set(answer.positions_still_open_after_waiting ?? []);
  const doubted = new Set((answer.positions_doubted ?? []).map(nameOf));
  const failed = (answer.closed ?? []).filter((row) => row.outcome !== "accepted");
  const told = [];
  for (const name of open) {
    const own = failed.filter((row) => nameOf(row) === name);
    if (!own.length && doubted.has(name)) continue; // its two figures are told
    const sent = (answer.closed ?? []).filter((row) => nameOf(row) === name && !isRefused(row));
    const act = sent.length ? `Look at the page Orders before you close it or press ${word} again` : `Close it in the broker's own app, or press ${word} again`;
    told.push(`${names.position(name)} is still open${because(once([...sent, ...own.filter(isRefused)].map(becoming)).join("; "))}. ${act}.`);
  }
  for (const row of failed.filter((each) => !open.has(nameOf(each)))) told.push(`${names.position(nameOf(row))}: ${becoming(row)}. Look at the page Positions whether it is closed.`);
  return told;
}

/** Whether the order of a close certainly cannot fill. */
const isRefused = (row) => row.outcome === null || row.outcome === "rejected";

/** What became of the order of a close. */
function becoming(row) {
  const order = `${row.transaction_type} ${number(row.close_quantity)}`;
  const why = row.status_message ? ` (${row.status_message})` : "";
  return row.outcome === "unknown" ? `it is not known whether ${order} left${why}` : `${order} ${row.outcome ?? "not sent"}${why}`;
}

/** A position above the freeze quantity has several closes, of which each may say the same. */
const once = (sentences) => [...new Set(sentences)];
const nameOf = (row) => `${row.broker}:${row.position_key}`;
const because = (words) => (words ? `: ${words}` : "");
const capital = (words) => words[0].toUpperCase() + words.slice(1);

/** `broker:key` into both; a key may have colons too. */
const split = (name) => [name.slice(0, name.indexOf(":")), name.slice(name.indexOf(":") + 1)];
