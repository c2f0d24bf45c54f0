// Which orders guard or close open units, so that nobody takes a stop away by one press. Pure: documents in, a sentence out.
import { instrument, number } from "/dashboard/format.js";

const PRODUCTS = { MIS: "intraday", CNC: "delivery", NRML: "carry", intraday: "intraday", delivery: "delivery", carry: "carry" };
const GUARDS = new Set(["oco", "trailing_stop", "stepped_stop", "atr_trail", "daily_stop", "hidden_stop", "candle_close_stop", "close_on_trigger", "strategy_stop", "stop_and_reverse", "square_off"]);
const SIGN = { BUY: 1, SELL: -1 };

/** What a parent's orders have bought less what they have sold, by instrument: its open units. */
function openUnits(parent) {
  const open = new Map();
  for (const leg of parent.legs) {
    const id = instrumentOf(parent, leg.part);
    open.set(id, (open.get(id) ?? 0) + (SIGN[leg.transaction_type] ?? 0) * (leg.filled_quantity ?? 0));
  }
  return open;
}

const partsOf = (parent) => parent.parameters?.parts ?? {};
const instrumentOf = (parent, path) => partsOf(parent)[path]?.instrument_id ?? parent.instrument_id;
const closesAll = (parent) => parent.parameters?.closes_position === true || GUARDS.has(parent.routed_from);

/** Why the cancel of an order of the book is asked about first; null: it is not. `positions`: the net rows. `parent`: the order's parent, if known. */
export function whyAsk(row, positions, parent) {
  const pending = row.pending_quantity || row.quantity - (row.filled_quantity ?? 0);
  const held = (positions ?? [])
    .filter((each) => each.instrument_id && each.instrument_id === row.instrument_id && each.product === PRODUCTS[row.product])
    .flatMap((each) => each.by_broker)
    .filter((each) => each.broker === row.broker)
    .reduce((sum, each) => sum + (each.quantity ?? 0), 0);
  const ofPlan = parent ? openUnits(parent).get(row.instrument_id) ?? 0 : 0;
  const closes = (units) => units * (SIGN[row.transaction_type] ?? 0) < 0;
  const guarded = closes(ofPlan) ? ofPlan : closes(held) ? held : 0;
  if (!guarded && !(parent && closesAll(parent))) return null;
  const units = guarded ? `${number(Math.min(pending, Math.abs(guarded)))} units of ` : "";
  return `This ${row.transaction_type} ${row.order_type} order guards or closes ${units}${instrument(row)} at ${row.broker}: they stay open without it.`;
}

/** The same of a parent, or of one part of it (`path`) with the parts below it. `name`: what its instrument is called. */
export function whyAskParent(parent, path, name) {
  const within = (one) => path === undefined || one === path || one.startsWith(`${path}.`);
  const open = openUnits(parent);
  const waiting = [
    ...parent.legs.filter((leg) => within(leg.part) && leg.pending_quantity).map((leg) => [instrumentOf(parent, leg.part), leg.transaction_type]),
    ...Object.entries(partsOf(parent)).filter(([one, part]) => within(one) && part.transaction_type && !OVER.has(part.state)).map(([one, part]) => [instrumentOf(parent, one), part.transaction_type]),
  ];
  const exits = waiting.filter(([id, side]) => (open.get(id) ?? 0) * (SIGN[side] ?? 0) < 0);
  if (!exits.length && !closesAll(parent)) return null;
  const units = exits.length ? `${number(Math.abs(open.get(exits[0][0])))} units of ` : "";
  return `This guards or closes ${units}${name(exits[0]?.[0] ?? parent.instrument_id)}: they stay open without it.`;
}

const OVER = new Set(["completed", "cancelled", "rejected", "failed", "expired", "done"]);
