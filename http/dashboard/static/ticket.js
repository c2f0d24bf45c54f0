// The ticket: an order of any type, from a form that the service's document describes. It asks first what would be done, and sends once.
import { html, useEffect, useState } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { age, money, number, word } from "/dashboard/format.js";
import { marks, noPrice } from "/dashboard/freshness.js";
import { Picker } from "/dashboard/picker.js";
import { Field, fields, value } from "/dashboard/schema_form.js";
import { known, now, watch } from "/dashboard/store.js";

const NAMED = new Set(["instrument_id", "exchange", "segment", "symbol", "underlying_symbol", "expiry_date", "strike_price", "option_type", "dry_run", "synthetic"]);
const NAMED_BY_PART = new Set([...NAMED, "broker", "transaction_type", "quantity", "quantity_reference"]);
const OF_TYPE = new Set(["type"]);
const LARGE_RUPEES = 1_000_000;
const FOLLOW_MILLISECONDS = 500;
const FOLLOW_TRIES = 240;

let documented = null; // the OpenAPI document, read when the page is first opened
const draft = { chosen: null, type: "", typed: {}, split: [] };

/** Fill the ticket anew and show it; what was typed before is gone. `split`: {broker, transaction_type, quantity} of each of several orders that
    are equal in all else. They leave together, as a list. */
export function openTicket({ chosen, type = "", typed = {}, split = [] }) {
  Object.assign(draft, { chosen, type, typed, split });
  location.hash = "#/ticket";
}

export function Ticket() {
  const [document, setDocument] = useState(documented);
  const [error, setError] = useState(null);
  useEffect(() => {
    if (documented) return;
    ask("GET", "/openapi.json").then((read) => {
      documented = read;
      setDocument(read);
    }, (failed) => setError(failed.message));
  }, []);
  return html`<h1>Ticket</h1>
    ${error && html`<p class="bad" role="alert">${error}</p>`}
    ${document ? html`<${Form} document=${document} />` : html`<p class="quiet">Reading the order types…</p>`}`;
}

const orderTypes = (document) => Object.entries(document.components.schemas.SyntheticOrder.discriminator.mapping)
  .map(([type, place]) => [type, document.components.schemas[place.split("/").pop()]]);

function Form({ document }) {
  const [, repaint] = useState(0);
  const [state, setState] = useState({ phase: "open" }); // open, asking, planned, sending, sent
  const types = orderTypes(document);
  const schema = types.find(([type]) => type === draft.type)?.[1];
  const base = fields(document, document.components.schemas.PlaceOrderBodyOne, "", draft.split.length ? NAMED_BY_PART : NAMED);
  const own = schema ? fields(document, schema, "synthetic.", OF_TYPE) : [];
  const isBusy = state.phase === "asking" || state.phase === "sending";
  const isOver = state.phase === "sent";

  const change = (then) => {
    then();
    if (state.phase !== "open") setState({ phase: "open" }); // what was planned is no longer what would be sent
    repaint((count) => count + 1);
  };
  const type = (path, text) => change(() => {
    draft.typed[path] = text;
  });

  async function plan(event) {
    event.preventDefault();
    if (isBusy || isOver) return;
    try {
      const body = bodyOf(base, own);
      setState({ phase: "asking", body });
      setState({ phase: "planned", body, plan: planOf(await ask("POST", "/api/orders/place", { ...body, dry_run: true })) });
    } catch (failed) {
      setState({ phase: "open", error: failed.message });
    }
  }

  return html`<form class="ticket" onSubmit=${plan}>
    <${Picker} chosen=${draft.chosen} choose=${(row) => change(() => {
      Object.assign(draft, { chosen: row, split: [] });
    })} />
    ${draft.split.length ? html`<p id="split">One order for each broker: ${draft.split.map((part) => `${part.broker} ${part.transaction_type} ${number(part.quantity)}`).join(", ")}.${" "}
      <button type="button" disabled=${isBusy || isOver} onClick=${() => change(() => {
        draft.split = [];
      })}>One order instead</button></p>` : null}
    ${draft.chosen && html`<${Quote} id=${draft.chosen.instrument_id} />`}
    <div class="field"><label for="order-type">order type of the engine</label>
      <select id="order-type" value=${draft.type} disabled=${isBusy || isOver} onChange=${(event) => change(() => {
        draft.type = event.target.value;
      })}>
        <option value="">none</option>${types.map(([name]) => html`<option key=${name} value=${name}>${name}</option>`)}
      </select><small class="quiet">${schema?.description ?? ""}</small></div>
    <fieldset disabled=${isBusy || isOver}><legend>The order</legend><div class="fields">
      ${base.map((field) => html`<${Field} key=${field.path} field=${field} typed=${draft.typed[field.path]} wrong=${isNamed(state.error, field)} onType=${type} />`)}
    </div></fieldset>
    ${own.length ? html`<fieldset disabled=${isBusy || isOver}><legend>${draft.type}</legend><div class="fields">
      ${own.map((field) => html`<${Field} key=${field.path} field=${field} typed=${draft.typed[field.path]} wrong=${isNamed(state.error, field)} onType=${type} />`)}
    </div></fieldset>` : null}
    ${state.error && html`<p class="bad" role="alert">${state.error}</p>`}
    <p><button disabled=${isBusy || isOver}>Show what would be done</button></p>
    ${state.phase === "planned" && html`<${Planned} plan=${state.plan} body=${state.body} send=${() => send(state.body, setState)} />`}
    ${isBusy && html`<p role="status">Asking…</p>`}
    ${isOver && html`<p role="status" id="outcome" class=${state.isGood ? "good" : "bad"}>${state.told}</p>
      <p><button type="button" onClick=${() => setState({ phase: "open" })}>Another order</button></p>`}
  </form>`;
}

/** What the market is at now, to choose prices by. */
function Quote({ id }) {
  useEffect(() => {
    watch([{ subscribe: "quotes", mode: "depth", instruments: [{ instrument_id: id }] }]);
    return () => watch([]);
  }, [id]);
  const quote = known.quotes.get(id);
  if (!quote) return null;
  if (quote.stale) return html`<p class="old" id="ticket-quote">${noPrice(quote)}</p>`;
  const { class: fresh, ...mark } = marks(null);
  return html`<div id="ticket-quote" class=${fresh.replace("number", "")} ...${mark}>Last <strong id="last">${money(quote.last_price)}</strong>, bid ${money(quote.depth.buy[0]?.price)}, ask ${money(quote.depth.sell[0]?.price)}, ${age(now() / 1000 - quote.received_at)} old</div>`;
}

/** Whether a sentence of the service is about a field: it names the field first, or by its path. */
const isNamed = (sentence, field) => Boolean(sentence) && new RegExp(`(^|[ .])${field.name}\\b`).test(sentence.split(" must ")[0]);

function bodyOf(base, own) {
  const body = {};
  if (draft.chosen) body.instrument_id = draft.chosen.instrument_id;
  for (const field of base) {
    const given = value(field, draft.typed[field.path]);
    if (given !== undefined) body[field.name] = given;
  }
  if (draft.type) {
    body.synthetic = { type: draft.type };
    for (const field of own) {
      const given = value(field, draft.typed[field.path]);
      if (given !== undefined) body.synthetic[field.name] = given;
    }
  }
  return draft.split.length ? { orders: draft.split.map((part) => ({ ...body, ...part })) } : body;
}

/** The dry run of a list as that of one order with several requests. Throws when one of the orders would be refused. */
function planOf(answer) {
  if (!answer.results) return answer;
  const parts = answer.results.map((entry) => entry.response);
  const refused = parts.find((part) => part.error);
  if (refused) throw new Error(refused.error);
  return { requests: parts.flatMap((part) => part.requests ?? [part]), warnings: [...new Set(parts.flatMap((part) => part.warnings ?? []))], results: answer.results };
}

let isSending = false;

async function send(body, setState) {
  if (isSending) return; // pressed again before the page was painted
  isSending = true;
  setState({ phase: "sending", body });
  try {
    setState({ phase: "sent", ...told(await ask("POST", "/api/orders/place", body)) });
  } catch (failed) {
    // An unknown outcome is followed, and never sent again from here. A refusal was not sent: the form may be changed and tried anew.
    if (!failed.isUnknown) setState({ phase: "open", error: failed.message });
    else setState({ phase: "sent", ...(await followed(failed)) });
  } finally {
    isSending = false;
  }
}

/** Follow an order whose outcome is not known: its intent until the engine has answered it, then its parent until the broker's book has. */
async function followed(failed) {
  const { intent_id: intent } = failed.body ?? {};
  let { parent_id: parent } = failed.body ?? {};
  for (let tries = 0; (intent || parent) && tries < FOLLOW_TRIES; tries += 1) {
    await new Promise((then) => setTimeout(then, FOLLOW_MILLISECONDS));
    try {
      if (parent) {
        const found = settled(await ask("GET", `/api/orders/parents?parent_id=${encodeURIComponent(parent)}`));
        if (found) return found;
      } else {
        const kept = await ask("GET", `/api/orders/intents/${encodeURIComponent(intent)}`);
        if (kept.response && kept.status < 400) return told(kept.response);
        if (kept.response && kept.status !== 504) return { isGood: false, told: kept.response.error ?? kept.response.status_message };
        parent = kept.response?.parent_id;
      }
    } catch {
      // the service is away, or knows nothing yet: look again
    }
  }
  return { isGood: false, told: `${failed.message}. It may have been sent: orders and parents show what became of it.` };
}

const UNSETTLED = new Set(["sending", "unknown"]);
const NOT_THERE = new Set(["rejected", "not_sent"]);

/** What a parent tells of an order, once its broker has shown or denied it. */
function settled(parent) {
  if (parent.state === "received" || parent.legs.some((leg) => UNSETTLED.has(leg.state))) return null;
  const legs = parent.legs.map((leg) => `${leg.state} at ${leg.broker}${leg.order_id ? `, order ${leg.order_id}` : ""}, ${number(leg.filled_quantity)} of ${number(leg.quantity)} filled`);
  const why = parent.status_message ? ` (${parent.status_message})` : "";
  return { isGood: parent.legs.some((leg) => !NOT_THERE.has(leg.state)) || parent.state === "armed", told: `${parent.state}${why}: ${legs.join("; ") || "no order"}` };
}

function told(answer) {
  if (answer.results) {
    const each = answer.results.map(({ response }) => (response.error ? { isGood: false, told: response.error } : told(response)));
    return { isGood: each.every((one) => one.isGood), told: each.map((one) => one.told).join("; ") };
  }
  const where = answer.broker ? ` at ${answer.broker}` : "";
  if (answer.outcome) return { isGood: answer.outcome === "accepted", told: `${answer.outcome}${where}${answer.order_id ? `, order ${answer.order_id}` : ""}${answer.status_message ? `: ${answer.status_message}` : ""}` };
  return { isGood: true, told: `taken by the engine, parent ${word(answer.parent_id)}: ${word(answer.state)}` };
}

function Planned({ plan, body, send: sendIt }) {
  const [typed, setTyped] = useState("");
  const requests = plan.requests ?? [plan];
  const orders = body.orders ?? [body];
  const units = orders.reduce((sum, one) => sum + (one.quantity ?? 0), 0);
  const worth = orders.reduce((sum, one) => sum + (one.quantity ?? 0) * (one.price ?? one.trigger_price ?? 0), 0);
  const isLarge = worth >= LARGE_RUPEES;
  const costs = requests.map((one) => one.estimated_cost?.total);
  const sure = costs.filter((cost) => typeof cost === "number");
  return html`<section class="card" id="plan" aria-label="What would be done">
    ${(plan.warnings ?? []).map((text) => html`<p class="warn" key=${text}>${text}</p>`)}
    ${requests.map((one, index) => html`<div key=${index}><p>${word(one.broker)}: ${one.order ? describe(one.order) : word(one.part)}, charges ${typeof costs[index] === "number" ? money(costs[index]) : "not known"}</p>
      ${(one.skipped ?? []).map((skipped) => html`<p class="quiet" key=${skipped.broker}>not ${skipped.broker}: ${skipped.reason}</p>`)}</div>`)}
    ${!requests.length && html`<p>No order would be sent now.</p>`}
    ${sure.length > 1 && html`<p id="charges">Charges of ${sure.length === costs.length ? "all orders" : `${sure.length} of ${costs.length} orders`}: ${money(sure.reduce((sum, cost) => sum + cost, 0))}</p>`}
    <details><summary>All of it</summary><pre>${JSON.stringify(plan, null, 2)}</pre></details>
    ${isLarge && html`<p><label>It is worth ${money(worth)}. Type the quantity <input id="confirm-quantity" value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label></p>`}
    <p><button type="button" class="danger" id="send" disabled=${isLarge && Number(typed) !== units} onClick=${sendIt}>Send</button></p>
  </section>`;
}

const describe = (order) => [order.transaction_type, number(order.quantity), order.tradingsymbol, order.order_type, order.product, order.price ? `at ${money(order.price)}` : "", order.trigger_price ? `trigger ${money(order.trigger_price)}` : ""].filter(Boolean).join(" ");
