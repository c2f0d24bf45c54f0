// One question before a press that leaves units open: a dialog with a sentence, and the press itself.
import { html } from "/dashboard/preact-htm.js";
import { changed } from "/dashboard/store.js";

let shown = null; // {sentence, word, act}

/** Act at once without a sentence, else after the reader's second press. */
export function askFirst(sentence, word, act) {
  if (sentence === null) return act();
  shown = { sentence, word, act };
  return changed();
}

function close() {
  shown = null;
  changed();
}

function go(event) {
  event.preventDefault();
  const asked = shown; // a second press finds nothing
  close();
  asked?.act();
}

export function Asked() {
  return shown && html`
    <dialog ref=${(dialog) => dialog && !dialog.open && dialog.showModal()} onClose=${close} aria-labelledby="asked-title">
      <form onSubmit=${go}>
        <h2 id="asked-title">${shown.word}?</h2>
        <p class="bad" id="asked">${shown.sentence}</p>
        <p><button type="button" autofocus onClick=${close}>Leave it</button> <button class="danger">${shown.word}</button></p>
      </form>
    </dialog>`;
}
