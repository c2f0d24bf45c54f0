// What the page knows: the stream's documents, orders and parents, and the service's health. The page is painted at most once a frame.
import { ask, token } from "/dashboard/api.js";
import { moment } from "/dashboard/format.js";

const HEALTH_MILLISECONDS = 1500;
const SILENT_MILLISECONDS = 5000;
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
  ahead: 0, // how far the service's clock is ahead of this machine's, milliseconds
};

/** The service's time, milliseconds since the epoch. */
export const now = () => Date.now() + known.ahead;

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

export function stop() {
  isWanted = false;
  timers.forEach(clearInterval);
  socket?.close();
  socket = stream = null;
  Object.assign(known, { health: null, documents: {}, unavailable: {}, hasOrders: false, hasParents: false, answeredAt: 0 });
  known.orders.clear();
  known.parents.clear();
  known.quotes.clear();
  known.chain = null;
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
  known.quotes.clear();
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
    known.stream.isOpen = false;
    changed();
    if (event.code === 4401) look(); // the health's answer says whether the token is over
    setTimeout(open, wait);
    wait = Math.min(wait * 2, MOST_WAIT);
  };
}

function take(message, mine) {
  known.answeredAt = Date.now();
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

async function look() {
  if (!isWanted) return;
  try {
    const health = await ask("GET", "/api/health");
    if (!isWanted) return;
    known.health = health;
    known.answeredAt = Date.now();
    // The service writes whole seconds: what is less than that is not a difference of the clocks.
    const ahead = moment(health.time) + 500 - Date.now();
    known.ahead = Math.abs(ahead) < 1500 ? 0 : ahead;
  } catch (error) {
    if (error.status && error.status !== 401) known.answeredAt = Date.now();
  }
  changed();
}
