// Requests to the service. The token is kept in this tab alone, and forgotten with it.
const KEY = "onebroker-token";

export const token = () => sessionStorage.getItem(KEY);
export const forget = () => sessionStorage.removeItem(KEY);

/** An answer of the service that is no success, or none. `isUnknown`: an order may have been carried out all the same. */
export class Failed extends Error {
  constructor(status, sentence, body) {
    super(sentence);
    this.status = status;
    this.body = body;
    // A fault of the service may come after the engine has the order, and a proxy answers 502 when our answer is lost.
    this.isUnknown = [0, 500, 502, 504].includes(status) || body?.outcome === "unknown";
  }
}

/** Get the day's token by key and secret. */
export async function connect(key, secret) {
  const body = await send("POST", "/api/session/connect", { headers: { "api-key": key, "api-secret": secret } });
  sessionStorage.setItem(KEY, body["access-token"]);
}

/** Take a token that another program got, once the service says that it is good. */
export async function take(given) {
  await send("GET", "/api/session/status", { headers: { "access-token": given } });
  sessionStorage.setItem(KEY, given);
}

/** Send a request with the token; return the answer. Throws Failed. A 401 means that nothing was done, and that the token is over.
    A read may be given up after some milliseconds; a request that changes something never is. */
export async function ask(method, path, body, milliseconds) {
  const headers = { "access-token": token() ?? "" };
  if (body !== undefined) headers["content-type"] = "application/json";
  try {
    const signal = milliseconds === undefined ? undefined : AbortSignal.timeout(milliseconds);
    return await send(method, path, { headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.status === 401) ended();
    throw error;
  }
}

async function send(method, path, given) {
  let answer, text;
  try {
    answer = await fetch(path, { method, cache: "no-store", credentials: "omit", ...given });
    text = await answer.text();
  } catch {
    // Also an answer that was cut off: what it would have said is not known.
    throw new Failed(0, answer ? "the answer of the service was cut off" : "the service does not answer", null);
  }
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    if (answer.ok) throw new Failed(0, "the answer of the service cannot be read", null);
    // else a page of the framework, or of a proxy
  }
  if (answer.ok) return body;
  throw new Failed(answer.status, body?.error ?? body?.status_message ?? `the service answered ${answer.status}`, body);
}

let ended = () => {};
/** Set what happens when the service no longer takes the token. */
export const whenEnded = (then) => {
  ended = () => {
    forget();
    then();
  };
};
