// HALT, RESUME and FLATTEN: a dialog says what will happen, and takes the typed word. Each sends one request, however often it is pressed.
// CLOSE is the same for one position: the dialog shows the order of each broker that holds, and one press confirms it.
import { html, useState } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { known, changed } from "/dashboard/store.js";
import { namesOf, troublesOf, whyNotClosed } from "/dashboard/troubles.js";

let shown = null; // the open dialog: {kind, plan, isSent, error, answer}, {title, limits} of a CLOSE, {skipsCovered} of a FLATTEN

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
  FLATTEN: () => ask("POST", "/api/orders/flatten", { confirm: "FLATTEN", ...(shown.skipsCovered ? { skip_covered: true } : {}) }),
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
        ${isPlanned && !answer && html`<${Plan} plan=${plan} error=${error} skipsCovered=${shown.skipsCovered} />`}
        ${kind === "FLATTEN" && !answer && plan?.would_close.some((row) => row.covered_by_holdings) && html`<p><label><input type="checkbox" id="skip-covered" checked=${Boolean(shown.skipsCovered)} disabled=${Boolean(isSent)} onChange=${(event) => show({ ...shown, skipsCovered: event.target.checked })} /> Leave sales out of the holdings as they are</label></p>`}
        ${kind === "HALT" && html`<p><label>Reason <input value=${reason} maxlength="200" onInput=${(event) => setReason(event.target.value)} /></label></p>`}
        ${!answer && kind !== "CLOSE" && html`<p><label>Type ${kind} <input id="stop-word" autocomplete="off" value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label></p>`}
        ${error && html`<p class="bad" role="alert">${error}</p>`}
        ${answer && html`<${Troubles} answer=${answer} /><p class=${answer.flat === false ? "bad" : "good"} role="status">${told(kind, answer)}</p>`}
        <p>
          ${!answer && html`<button class="danger" disabled=${!isReady}>${kind}</button>`}
          <button type="button" onClick=${close}>${answer ? "Close" : "Leave"}</button>
        </p>
      </form>
    </dialog>`;
}

const open = (dialog) => dialog && !dialog.open && dialog.showModal();

function Plan({ plan, error, skipsCovered }) {
  if (error) return null;
  if (!plan) return html`<p role="status">Asking what would be done…</p>`;
  const { would_cancel: cancels, would_close: closes } = plan;
  const isLeft = (row) => Boolean(skipsCovered && row.covered_by_holdings);
  const closed = closes.filter((row) => !isLeft(row) && !whyNotClosed(row));
  const names = namesFor(plan);
  const isWhole = !troublesOf(plan, names).length;
  if (!cancels.length && !closes.length) return html`<${Troubles} answer=${plan} /><p>${isWhole ? "Nothing is open." : "Nothing else is open."}</p>`;
  return html`
    <${Troubles} answer=${plan} />
    <p>${count(cancels, "order")} would be cancelled, ${count(closed, "position")} closed:</p>
    <div class="wide"><table><thead><tr><th>Broker</th><th>What</th><th>How</th></tr></thead><tbody>
      ${cancels.map((row) => html`<tr><td>${row.broker}</td><td>${names.order(row.broker, row.order_id)}</td><td>cancel</td></tr>`)}
      ${closes.map((row) => html`<tr><td>${row.broker}</td><td>${names.row(row)}</td><td>${isLeft(row) ? "left as it is (covered by holdings)" : how(row)}</td></tr>`)}
    </tbody></table></div>`;
}

const count = (rows, noun) => `${rows.length} ${noun}${rows.length === 1 ? "" : "s"}`;

function how(row) {
  if (whyNotClosed(row)) return "not from here";
  return `${row.transaction_type} ${row.close_quantity}${row.covered_by_holdings ? " (covered by holdings: it buys back what was sold)" : ""}`;
}

const namesFor = (answer) => namesOf(answer, { net: known.documents.positions?.net, orders: known.orders, parents: known.parents, health: known.health });

/** What was not read, believed or done, above the lists and beside the result: a broker that cannot be read may hold anything. */
function Troubles({ answer }) {
  const sentences = troublesOf(answer, namesFor(answer));
  return sentences.length ? html`<div role="alert" id="stop-trouble">${sentences.map((each) => html`<p class="bad" key=${each}>${each}</p>`)}</div>` : null;
}

function told(kind, answer) {
  if (kind === "FLATTEN") return answer.flat ? `All is flat${shown.skipsCovered ? ", without the sales out of the holdings: they are left as they are" : ""}.` : `Not all is flat yet${answer.error ? `: ${answer.error}` : ""}.`;
  if (kind === "CLOSE") return answer.flat ? `Closed: ${closedAt(answer)}.` : `Not all is closed yet${answer.error ? `: ${answer.error}` : ""}: ${closedAt(answer)}.`;
  return kind === "HALT" ? "Trading is halted." : "Trading goes on.";
}

const closedAt = (answer) => answer.closed.map((each) => `${each.broker} ${each.transaction_type} ${each.close_quantity} ${each.outcome ?? "not sent"}${each.status_message ? ` (${each.status_message})` : ""}`).join("; ") || "nothing was open";
