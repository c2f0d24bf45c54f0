// What the page knows: the stream's documents, orders and parents, and the service's health. The page is painted at most once a frame.
import { ask, token } from "/dashboard/api.js";
import { moment } from "/dashboard/format.js";

const HEALTH_MILLISECONDS = 700;
const SILENT_MILLISECONDS = 1800; // a page that heard nothing for so long is not live
const SETTLED_MILLISECONDS = 2000; // after a return the stream has told by then what was missed
const FIRST_WAIT = 250;
const MOST_WAIT = 5000;
const DOCUMENTS = ["funds", "positions", "trades"];

export const known = {
  health: null,
  documents: {}, // name -> document
  unavailable: {}, // name of a document, `orders` or `parents` -> why it is not served
  orders: new Map(), // broker and order id -> order
  hasOrders: false,
  quotes: new Map(), // instrument id -> the newest quote of what the open page watches
  chain: null, // the option chain that the open page watches
  parents: new Map(), // id -> parent, unfinished ones and those that ended while this page was open
  hasParents: false,
  stream: { isOpen: false, seq: 0, gaps: 0 },
  answeredAt: 0, // when the service last answered, milliseconds of this machine
  away: null, // what the last loss of the connection hid: {since, back, orders, parents}, the latter two {before, after}
  ahead: 0, // how far the service's clock is ahead of this machine's, milliseconds
};

/** The service's time, milliseconds since the epoch. */
export const now = () => Date.now() + known.ahead;

let silent = null;

/** The service has answered. A silence from now on is painted as soon as it counts. */
function heard() {
  known.answeredAt = Date.now();
  clearTimeout(silent);
  silent = setTimeout(changed, SILENT_MILLISECONDS);
}

/** Seconds since the service last answered anything. */
export const silence = () => (known.answeredAt ? (Date.now() - known.answeredAt) / 1000 : Infinity);

/** Whether what the page shows may be taken as live. */
export const isLive = () => known.stream.isOpen && Date.now() - known.answeredAt < SILENT_MILLISECONDS;

let paint = () => {};
let isDue = false;
/** Set what paints the page. */
export const painter = (then) => {
  paint = then;
};

export function changed() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    paint();
  });
}

// --- the stream -------------------------------------------------------------------------------------------------------

let socket = null;
let stream = null;
let wait = FIRST_WAIT;
let isWanted = false;
let timers = [];

export function start() {
  if (isWanted) return;
  isWanted = true;
  open();
  look();
  timers = [setInterval(look, HEALTH_MILLISECONDS), setInterval(changed, 1000)];
}

// A page that nobody sees has its timers slowed: what it shows is looked at again when it is seen again.
document.addEventListener("visibilitychange", () => {
  look();
  changed();
});

export function stop() {
  isWanted = false;
  timers.forEach(clearInterval);
  socket?.close();
  socket = stream = null;
  Object.assign(known, { health: null, documents: {}, unavailable: {}, hasOrders: false, hasParents: false, answeredAt: 0 });
  known.orders.clear();
  known.parents.clear();
  known.quotes.clear();
  known.chain = known.away = null;
  watched = [];
  known.stream = { isOpen: false, seq: 0, gaps: 0 };
  changed();
}

let watched = []; // the subscriptions of the open page

/** Subscribe what a page shows, in the place of what the page before showed. */
export function watch(requests) {
  const say = (request) => known.stream.isOpen && socket?.send(JSON.stringify(request));
  const kinds = new Set(watched.map((each) => each.subscribe));
  watched = requests;
  const kept = new Set(requests.flatMap((each) => each.instruments ?? []).map((each) => each.instrument_id));
  for (const id of known.quotes.keys()) if (!kept.has(id)) known.quotes.delete(id);
  kinds.forEach((kind) => say({ unsubscribe: kind }));
  requests.forEach(say);
}

function open() {
  if (!isWanted) return;
  const mine = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/stream`);
  socket = mine;
  mine.onopen = () => {
    const hello = { "access-token": token() };
    if (stream !== null) Object.assign(hello, { resume: known.stream.seq, stream });
    mine.send(JSON.stringify(hello));
  };
  mine.onmessage = (event) => mine === socket && take(JSON.parse(event.data), mine);
  mine.onclose = (event) => {
    if (mine !== socket) return;
    lost();
    if (event.code === 4401) look(); // the health's answer says whether the token is over
    setTimeout(open, wait);
    wait = Math.min(wait * 2, MOST_WAIT);
  };
}

/** Connect anew at once. */
function again() {
  const old = socket;
  socket = null;
  old?.close();
  lost();
  open();
}

function take(message, mine) {
  heard();
  if (message.type === "started") {
    if (stream !== null) known.stream.gaps += 1;
    stream = message.stream;
    known.stream.seq = message.seq;
    subscribe(mine);
    good();
  } else if (message.seq !== known.stream.seq + 1) {
    mine.close(); // the next connection resumes after the last good message
    return;
  } else {
    known.stream.seq = message.seq;
    if (message.type === "resumed") good();
    else RECEIVED[message.type]?.(message);
  }
  changed();
}

function good() {
  known.stream.isOpen = true;
  wait = FIRST_WAIT;
  const { away } = known;
  if (!away || away.back) return;
  away.back = Date.now();
  setTimeout(() => settle(away), SETTLED_MILLISECONDS);
}

/** Keep what was known when the connection was lost, so that the page can tell what it missed. */
function lost() {
  known.stream.isOpen = false;
  if (isWanted && known.hasOrders && known.hasParents && (!known.away || known.away.back)) {
    const copy = (rows) => ({ before: new Map(rows), after: rows });
    known.away = { since: known.answeredAt, back: null, orders: copy(known.orders), parents: copy(known.parents) };
  }
  changed();
}

/** End the account of a loss. A parent that ended meanwhile is in no snapshot, so it is asked for. */
async function settle(away) {
  await Promise.all([...away.parents.before.keys()].filter((id) => !known.parents.has(id)).map(async (id) => {
    try {
      known.parents.set(id, await ask("GET", `/api/orders/parents?parent_id=${encodeURIComponent(id)}`));
    } catch {
      // the page of the parents shows it when it can be read
    }
  }));
  for (const name of ["orders", "parents"]) away[name].after = new Map(known[name]);
  changed();
}

/** The reader has seen what a loss hid. */
export function returned() {
  known.away = null;
  changed();
}

function subscribe(mine) {
  for (const request of [{ subscribe: "documents", documents: DOCUMENTS }, { subscribe: "orders" }, { subscribe: "parents" }, ...watched]) {
    mine.send(JSON.stringify(request));
  }
}

const RECEIVED = {
  document(message) {
    if (message.error) known.unavailable[message.document] = message.error;
    else {
      delete known.unavailable[message.document];
      known.documents[message.document] = message.data;
    }
  },
  quotes(message) {
    for (const quote of message.quotes) known.quotes.set(quote.instrument_id, quote);
  },
  chain(message) {
    if (!watched.some((each) => each.subscribe === "chain" && each.expiry_date === message.expiry_date && each.underlying_symbol.toUpperCase() === message.underlying_symbol)) return;
    if (message.error) {
      known.chain = null;
      known.unavailable.chain = message.error;
      return;
    }
    delete known.unavailable.chain;
    const rows = new Map(message.snapshot ? [] : known.chain?.rows.map((row) => [row.strike_price, row]));
    for (const row of message.rows) rows.set(row.strike_price, row);
    const shown = new Set(message.shown ?? [...rows.keys()]);
    known.chain = { ...message, rows: [...rows.values()].filter((row) => shown.has(row.strike_price)).sort((one, other) => one.strike_price - other.strike_price) };
  },
  orders(message) {
    receive(message, "orders", (order) => `${order.broker} ${order.order_id}`, "order");
  },
  parents(message) {
    receive(message, "parents", (parent) => parent.parent_order_id, "parent");
  },
};

function receive(message, name, keyOf, one) {
  const rows = known[name];
  if (message.error) {
    rows.clear();
    known.unavailable[name] = message.error;
    return;
  }
  delete known.unavailable[name];
  if (message.snapshot) {
    rows.clear();
    for (const row of message[name]) rows.set(keyOf(row), row);
    known[name === "orders" ? "hasOrders" : "hasParents"] = true;
    return;
  }
  for (const event of message.events) {
    if (event.event === "gone") rows.delete(keyOf(event[one]));
    else rows.set(keyOf(event[one]), event[one]);
  }
}

// --- the health -------------------------------------------------------------------------------------------------------

let isLooking = false;

async function look() {
  if (!isWanted || isLooking) return;
  isLooking = true;
  try {
    const health = await ask("GET", "/api/health", undefined, SILENT_MILLISECONDS);
    if (!isWanted) return;
    // Answers come again after a silence: the socket may be dead without knowing it. A new one resumes, and misses nothing.
    if (known.stream.isOpen && Date.now() - known.answeredAt > 2 * SILENT_MILLISECONDS) again();
    known.health = health;
    heard();
    // The service writes whole seconds: what is less than that is not a difference of the clocks.
    const ahead = moment(health.time) + 500 - Date.now();
    known.ahead = Math.abs(ahead) < 1500 ? 0 : ahead;
  } catch (error) {
    if (error.status && error.status !== 401) heard();
  } finally {
    isLooking = false;
  }
  changed();
}
