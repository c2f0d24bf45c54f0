// The change of an order: a dialog with its present terms, which sends what differs, once.
import { html, useState } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { changed, known } from "/dashboard/store.js";

const TERMS = ["price", "trigger_price", "quantity"];
let shown = null; // the open dialog: {key, isSent, told, isGood}

export const openModify = (key) => show({ key });
const close = () => show(null);

function show(next) {
  shown = next;
  changed();
}

export function Modify() {
  const row = shown && known.orders.get(shown.key);
  return row ? html`<${Dialog} key=${shown.key} row=${row} />` : null;
}

function Dialog({ row }) {
  // As they were when the dialog was opened: a change by somebody else must not be undone unseen.
  const [before] = useState(() => Object.fromEntries(TERMS.map((term) => [term, row[term]])));
  const [typed, setTyped] = useState(() => Object.fromEntries(TERMS.map((term) => [term, row[term] ? String(row[term]) : ""])));
  const { isSent, told, isGood } = shown;
  const wanted = Object.fromEntries(TERMS.filter((term) => typed[term] !== "" && Number(typed[term]) !== before[term]).map((term) => [term, Number(typed[term])]));
  const isReady = !isSent && Object.keys(wanted).length > 0 && Object.values(wanted).every(Number.isFinite);

  async function send(event) {
    event.preventDefault();
    if (!isReady || shown.isSent) return; // pressed again before the page was painted
    show({ ...shown, isSent: true, told: "asking…" });
    const mine = shown;
    const say = (more) => shown === mine && show({ ...mine, ...more });
    try {
      const answer = await ask("PUT", "/api/orders/modify", { order_id: row.order_id, broker: row.broker, ...wanted });
      say({ isGood: answer.outcome !== "rejected", told: [answer.outcome, answer.status_message].filter(Boolean).join(": ") });
    } catch (failed) {
      say(failed.isUnknown ? { told: `${failed.message}: the book shows what became of it` } : { isSent: false, told: failed.message });
    }
  }

  return html`<dialog ref=${(dialog) => dialog && !dialog.open && dialog.showModal()} onClose=${close} aria-labelledby="modify-title">
    <form onSubmit=${send}>
      <h2 id="modify-title">Change ${row.transaction_type} ${row.tradingsymbol} at ${row.broker}</h2>
      ${TERMS.map((term) => html`<div class="field" key=${term}><label for=${`modify-${term}`}>${term}</label>
        <input id=${`modify-${term}`} inputmode="decimal" autocomplete="off" value=${typed[term]} disabled=${Boolean(isSent)} onInput=${(event) => setTyped({ ...typed, [term]: event.target.value })} /></div>`)}
      ${told && html`<p role=${isGood ? "status" : "alert"} id="modified" class=${isGood ? "good" : "bad"}>${told}</p>`}
      <p><button disabled=${!isReady}>Change</button> <button type="button" onClick=${close}>Leave</button></p>
    </form></dialog>`;
}
