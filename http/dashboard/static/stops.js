// HALT, RESUME and FLATTEN: a dialog says what will happen, and takes the typed word. Each sends one request, however often it is pressed.
// CLOSE is the same for one position: the dialog shows the order of each broker that holds, and one press confirms it.
import { html, useState } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { known, changed } from "/dashboard/store.js";

let shown = null; // the open dialog: {kind, plan, isSent, error, answer}, and {title, limits} of a CLOSE

export const openHalt = () => show({ kind: known.health?.halt?.halted ? "RESUME" : "HALT" });
export const close = () => show(null);

export const openFlatten = () => planned({ kind: "FLATTEN" }, "/api/orders/flatten", {});

/** Close the positions within limits, such as an instrument and a product; `title` names them. */
export const openClose = ({ title, limits }) => planned({ kind: "CLOSE", title, limits }, "/api/orders/close", limits);

/** Open a dialog that shows what would be done. Another dialog may be open when the answer comes. */
async function planned(dialog, path, limits) {
  show({ ...dialog, plan: null });
  const mine = shown;
  const say = (more) => shown === mine && show({ ...mine, ...more });
  try {
    say({ plan: await ask("POST", path, { ...limits, confirm: dialog.kind, dry_run: true }) });
  } catch (error) {
    say({ error: error.message });
  }
}

function show(next) {
  shown = next;
  changed();
}

const SENT = {
  HALT: (reason) => ask("POST", "/api/orders/halt", { confirm: "HALT", reason }),
  RESUME: () => ask("DELETE", "/api/orders/halt"),
  FLATTEN: () => ask("POST", "/api/orders/flatten", { confirm: "FLATTEN" }),
  CLOSE: () => ask("POST", "/api/orders/close", { ...shown.limits, confirm: "CLOSE" }),
};

const MEANING = {
  HALT: "No entry leaves any more. Exits and cancels still do. It holds until somebody resumes, also after a restart.",
  RESUME: "Entries may leave again.",
  FLATTEN: "Every order is cancelled and every position is closed, at every broker.",
  CLOSE: "What rests there is cancelled, and the position is closed at every broker that holds a part of it.",
};

export function Stops() {
  return shown && html`<${Dialog} key=${shown.kind} />`;
}

function Dialog() {
  const [typed, setTyped] = useState("");
  const [reason, setReason] = useState("");
  const { kind, plan, isSent, error, answer } = shown;
  const isPlanned = kind === "FLATTEN" || kind === "CLOSE";
  const isReady = (typed === kind || kind === "CLOSE") && !isSent && (kind !== "HALT" || reason.trim()) && (!isPlanned || plan);

  async function send(event) {
    event.preventDefault();
    if (!isReady || shown.isSent) return; // pressed again before the page was painted
    show({ ...shown, isSent: true, error: null });
    const mine = shown;
    const say = (more) => shown === mine && show({ ...mine, ...more });
    try {
      say({ answer: await SENT[kind](reason.trim()) });
    } catch (failed) {
      // What may have happened is not sent again from here: the page shows what became of it.
      say(failed.isUnknown ? { error: `${failed.message}: what became of it, orders and positions show` } : { isSent: false, error: failed.message });
    }
  }

  return html`
    <dialog ref=${open} onClose=${close} aria-labelledby="stop-title">
      <form onSubmit=${send}>
        <h2 id="stop-title">${kind}</h2>
        ${shown.title && html`<p><strong>${shown.title}</strong></p>`}
        <p>${MEANING[kind]}</p>
        ${isPlanned && html`<${Plan} plan=${plan} error=${error} />`}
        ${kind === "HALT" && html`<p><label>Reason <input value=${reason} maxlength="200" onInput=${(event) => setReason(event.target.value)} /></label></p>`}
        ${!answer && kind !== "CLOSE" && html`<p><label>Type ${kind} <input id="stop-word" autocomplete="off" value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label></p>`}
        ${error && html`<p class="bad" role="alert">${error}</p>`}
        ${answer && html`<${Unread} answer=${answer} /><p class=${answer.flat === false ? "bad" : "good"} role="status">${told(kind, answer)}</p>`}
        <p>
          ${!answer && html`<button class="danger" disabled=${!isReady}>${kind}</button>`}
          <button type="button" onClick=${close}>${answer ? "Close" : "Leave"}</button>
        </p>
      </form>
    </dialog>`;
}

const open = (dialog) => dialog && !dialog.open && dialog.showModal();

function Plan({ plan, error }) {
  if (error) return null;
  if (!plan) return html`<p role="status">Asking what would be done…</p>`;
  const { would_cancel: cancels, would_close: closes } = plan;
  if (!cancels.length && !closes.length) return html`<${Unread} answer=${plan} /><p>${isWhole(plan) ? "Nothing is open." : "Nothing else is open."}</p>`;
  return html`
    <${Unread} answer=${plan} />
    <p>${cancels.length} orders would be cancelled, ${closes.length} positions closed:</p>
    <div class="wide"><table><thead><tr><th>Broker</th><th>What</th><th>How</th></tr></thead><tbody>
      ${cancels.map((row) => html`<tr><td>${row.broker}</td><td>${row.tradingsymbol ?? row.order_id}</td><td>cancel</td></tr>`)}
      ${closes.map((row) => html`<tr><td>${row.broker}</td><td>${row.tradingsymbol}</td><td>${row.transaction_type} ${row.close_quantity}${row.covered_by_holdings ? " (covered by holdings: it buys back what was sold)" : ""}</td></tr>`)}
    </tbody></table></div>`;
}

const isWhole = (answer) => !answer.brokers_not_read?.length && !answer.positions_not_readable?.length;

/** What the lists do not have, before the lists: a broker that cannot be read may hold anything. */
function Unread({ answer }) {
  if (isWhole(answer)) return null;
  return html`<div role="alert" id="not-read">
    ${(answer.brokers_not_read ?? []).map((broker) => html`<p class="bad" key=${broker}>${broker} cannot be read: its orders and positions are not in this list.</p>`)}
    ${(answer.positions_not_readable ?? []).map((one) => html`<p class="bad" key=${`${one.broker} ${one.status_message}`}>Some positions of ${one.broker} cannot be read and are not in this list: ${one.status_message}</p>`)}
  </div>`;
}

function told(kind, answer) {
  if (kind === "FLATTEN") return answer.flat ? "All is flat." : `Not all is flat yet${answer.error ? `: ${answer.error}` : ""}.`;
  if (kind === "CLOSE") return answer.flat ? `Closed: ${closedAt(answer)}.` : `Not all is closed yet${answer.error ? `: ${answer.error}` : ""}: ${closedAt(answer)}.`;
  return kind === "HALT" ? "Trading is halted." : "Trading goes on.";
}

const closedAt = (answer) => answer.closed.map((each) => `${each.broker} ${each.transaction_type} ${each.close_quantity} ${each.outcome ?? "not sent"}${each.status_message ? ` (${each.status_message})` : ""}`).join("; ") || "nothing was open";
