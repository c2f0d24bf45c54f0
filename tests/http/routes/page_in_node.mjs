// As much of a browser as the page's parts need, for Node: elements, presses, typed words, and a service that gives prepared answers.
// No layout and no policy: those are tried in Chromium (tests/demo/test_dashboard.py).

class Element {
  nodeType = 1;
  childNodes = [];
  parentNode = null;
  attributes = {};
  listeners = {};
  disabled = false;
  checked = false;
  value = "";
  open = false;
  onclick = null;
  onsubmit = null;
  oninput = null;
  onchange = null;
  onclose = null;

  constructor(name) {
    this.localName = name;
  }
  get firstChild() {
    return this.childNodes[0] ?? null;
  }
  get nextSibling() {
    return this.parentNode?.childNodes[this.parentNode.childNodes.indexOf(this) + 1] ?? null;
  }
  insertBefore(child, before) {
    child.parentNode?.removeChild(child);
    this.childNodes.splice(before ? this.childNodes.indexOf(before) : this.childNodes.length, 0, child);
    child.parentNode = this;
    return child;
  }
  appendChild(child) {
    return this.insertBefore(child, null);
  }
  removeChild(child) {
    this.childNodes.splice(this.childNodes.indexOf(child), 1);
    child.parentNode = null;
  }
  setAttribute(name, value) {
    this.attributes[name] = String(value);
  }
  removeAttribute(name) {
    delete this.attributes[name];
  }
  addEventListener(name, then) {
    this.listeners[name] = then;
  }
  removeEventListener(name) {
    delete this.listeners[name];
  }
  showModal() {
    this.open = true;
  }
}

class Text extends Element {
  nodeType = 3;
  constructor(data) {
    super("#text");
    this.data = data;
  }
}

const kept = new Map();
globalThis.document = {
  createElement: (name) => new Element(name),
  createElementNS: (_, name) => new Element(name),
  createTextNode: (data) => new Text(data),
  addEventListener: () => {},
};
globalThis.requestAnimationFrame = (then) => setTimeout(then, 0);
globalThis.cancelAnimationFrame = clearTimeout;
globalThis.sessionStorage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value), removeItem: (name) => kept.delete(name) };

/** What the page asked the service: [method, path, body], in order. */
export const asked = [];
/** Answer each request by `answers`, in order; the last of them again and again. Each is [status, body]. */
export function serve(answers) {
  globalThis.fetch = async (path, { method, body }) => {
    asked.push([method, path, body === undefined ? null : JSON.parse(body)]);
    const [status, said] = answers.length > 1 ? answers.shift() : answers[0];
    return { ok: status < 300, status, text: async () => JSON.stringify(said) };
  };
}

/** Until everything that is under way has been painted. */
export const settled = () => new Promise((then) => setTimeout(then, 50));

const below = (node) => [node, ...node.childNodes.flatMap(below)];
/** The elements of a name within a node whose text has some words. */
export const find = (node, name, words = "") => below(node).filter((each) => each.localName === name && text(each).includes(words));
/** The elements with an attribute of a value, such as an id. */
export const having = (node, name, value) => below(node).filter((each) => each.attributes?.[name] === value);
/** The words of a node, as a reader sees them. */
export const text = (node) => below(node).map((each) => each.data ?? "").join("");
/** The words of each element of a name, without those that have none. */
export const texts = (node, name) => find(node, name).map(text).filter(Boolean);

/** Let something happen at an element; it goes no further. */
export async function happen(element, type) {
  element.listeners[type].call(element, { type, target: element, preventDefault: () => {} });
  await settled();
}

/** Type words into a field. */
export async function type(field, words) {
  field.value = words;
  await happen(field, "input");
}
