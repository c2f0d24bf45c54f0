// The names of instruments of which only the id is known: each is asked for once.
import { ask } from "/dashboard/api.js";
import { instrument } from "/dashboard/format.js";
import { changed } from "/dashboard/store.js";

const MOST_NAMES = 5000;
const names = new Map(); // instrument id -> name; null while it is asked for

/** The name of an instrument; its id until the name is known. */
export function nameOf(id) {
  if (!names.has(id)) {
    if (names.size >= MOST_NAMES) names.clear();
    names.set(id, null);
    read(id);
  }
  return names.get(id) ?? id;
}

async function read(id) {
  try {
    names.set(id, instrument(await ask("GET", `/api/instruments/details?instrument_id=${encodeURIComponent(id)}`)));
    changed();
  } catch (error) {
    if (error.isUnknown) names.delete(id); // the service was away: the next paint asks again
  }
}
