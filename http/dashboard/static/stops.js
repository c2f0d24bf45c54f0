// HALT, RESUME and FLATTEN: a dialog says what will happen, and takes the typed word. Each sends one request, however often it is pressed.
import { html, useState } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { known, changed } from "/dashboard/store.js";

let shown = null; // the open dialog: {kind, plan, isSent, error, answer}

export const openHalt = () => show({ kind: known.health?.halt?.halted ? "RESUME" : "HALT" });
export const close = () => show(null);

export async function openFlatten() {
  show({ kind: "FLATTEN", plan: null });
  try {
    const plan = await ask("POST", "/api/orders/flatten", { confirm: "FLATTEN", dry_run: true });
    if (shown?.kind === "FLATTEN") show({ ...shown, plan });
  } catch (error) {
    if (shown?.kind === "FLATTEN") show({ ...shown, error: error.message });
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
};

const MEANING = {
  HALT: "No entry leaves any more. Exits and cancels still do. It holds until somebody resumes, also after a restart.",
  RESUME: "Entries may leave again.",
  FLATTEN: "Every order is cancelled and every position is closed, at every broker.",
};

export function Stops() {
  return shown && html`<${Dialog} key=${shown.kind} />`;
}

function Dialog() {
  const [typed, setTyped] = useState("");
  const [reason, setReason] = useState("");
  const { kind, plan, isSent, error, answer } = shown;
  const isReady = typed === kind && !isSent && (kind !== "HALT" || reason.trim()) && (kind !== "FLATTEN" || plan);

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
        <p>${MEANING[kind]}</p>
        ${kind === "FLATTEN" && html`<${Plan} plan=${plan} error=${error} />`}
        ${kind === "HALT" && html`<p><label>Reason <input value=${reason} maxlength="200" onInput=${(event) => setReason(event.target.value)} /></label></p>`}
        ${!answer && html`<p><label>Type ${kind} <input id="stop-word" autocomplete="off" value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label></p>`}
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
      ${closes.map((row) => html`<tr><td>${row.broker}</td><td>${row.tradingsymbol}</td><td>${row.transaction_type} ${row.close_quantity}</td></tr>`)}
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
  return kind === "HALT" ? "Trading is halted." : "Trading goes on.";
}
