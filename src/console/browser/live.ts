/**
 * `<live-updates href="…">`: keeps the page up to date, and says whether it is.
 *
 * It sets texts, widths and points of elements that name them. When the page has another shape (another state, a new
 * import), it loads the page again and replaces the parts marked `data-swap`.
 */

interface State {
  shape: string;
  text: Record<string, string>;
  bars?: Record<string, number[]>;
  points?: Record<string, string>;
  times?: Record<string, string>;
}

/** Longer than the longest pause between two messages. */
const SILENCE_MS = 12_000;

class LiveUpdates extends HTMLElement {
  #source: EventSource | undefined;
  #shape = this.getAttribute('shape');
  #timer: ReturnType<typeof setTimeout> | undefined;
  #seenAt = new Date();
  #hasEnded = false;
  readonly #look = () => (document.hidden ? this.#close() : this.#open());

  connectedCallback(): void {
    this.setAttribute('role', 'status');
    document.addEventListener('visibilitychange', this.#look);
    this.#look();
  }

  disconnectedCallback(): void {
    document.removeEventListener('visibilitychange', this.#look);
    this.#close();
  }

  /** A tab that nobody sees needs none: without HTTP/2 a browser has six connections to a server, for all tabs. */
  #close(): void {
    this.#source?.close();
    this.#source = undefined;
    clearTimeout(this.#timer);
  }

  #open(): void {
    if (this.#source || this.#hasEnded) return;
    this.#source = new EventSource(this.getAttribute('href') as string);
    this.#source.addEventListener('message', ({ data }) => this.#take(JSON.parse(data)));
    this.#source.addEventListener('alive', () => this.#alive());
    this.#source.addEventListener('ended', () => this.#end());
    this.#source.addEventListener('error', () => this.#stale());
  }

  #alive(): void {
    this.#seenAt = new Date();
    this.#say('live', this.getAttribute('on') as string);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#stale(), SILENCE_MS);
  }

  #stale(): void {
    const since = this.#seenAt.toLocaleTimeString(document.documentElement.lang);
    this.#say('live stale', (this.getAttribute('stale') as string).replace('{time}', since));
    // A refusal closes the stream for good; the browser repeats everything else by itself.
    if (this.#source?.readyState === EventSource.CLOSED) setTimeout(() => this.#again(), 3000);
  }

  #again(): void {
    if (!this.isConnected || this.#source?.readyState !== EventSource.CLOSED) return;
    this.#close();
    this.#look();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#close();
    this.#say('live stale', this.getAttribute('ended') as string);
  }

  #say(look: string, text: string): void {
    if (this.textContent !== text) this.textContent = text;
    this.className = look;
  }

  #take(state: State): void {
    this.#alive();
    if (this.#shape !== state.shape) swap();
    this.#shape = state.shape;
    for (const [name, text] of Object.entries(state.text)) {
      for (const element of named('text', name)) if (element.textContent !== text) element.textContent = text;
    }
    for (const [name, parts] of Object.entries(state.bars ?? {}))
      for (const bar of named('bar', name)) draw(bar, parts);
    for (const [name, points] of Object.entries(state.points ?? {})) {
      for (const element of named('points', name)) element.setAttribute('points', points);
    }
    // src/platform/html/browser/local-times.ts writes them.
    for (const [name, iso] of Object.entries(state.times ?? {})) {
      for (const element of named('time', name)) element.setAttribute('datetime', iso);
    }
  }
}

function named(kind: string, name: string): NodeListOf<Element> {
  return document.querySelectorAll(`[data-${kind}="${CSS.escape(name)}"]`);
}

function draw(bar: Element, parts: readonly number[]): void {
  let x = 0;
  for (const [i, rect] of [...bar.children].entries()) {
    rect.setAttribute('x', String(x));
    rect.setAttribute('width', String(parts[i] ?? 0));
    x += parts[i] ?? 0;
  }
}

let loading: XMLHttpRequest | undefined;

/** Loads this page as a document, which runs nothing, and takes over its parts. The last change counts. */
function swap(): void {
  loading?.abort();
  const request = new XMLHttpRequest();
  loading = request;
  request.open('GET', location.href);
  request.setRequestHeader('Accept', 'text/html');
  request.responseType = 'document';
  request.addEventListener('load', () => {
    if (request.status !== 200 || !request.responseXML) return;
    for (const part of document.querySelectorAll('[data-swap]')) {
      const next = request.responseXML.getElementById(part.id);
      if (next && !part.contains(document.activeElement)) part.replaceWith(document.adoptNode(next));
      else if (next) keepFocus(part, next);
    }
  });
  request.send();
}

// A part of the page knows that the page is out of date, before the service says so.
document.addEventListener('page-changed', swap);

/** The focus stays on the link or button that had it, if there still is one. */
function keepFocus(part: Element, next: Element): void {
  const { activeElement } = document;
  const href = activeElement?.getAttribute('href');
  // A person who types is not interrupted.
  if (activeElement instanceof HTMLInputElement || activeElement instanceof HTMLSelectElement) return;
  part.replaceWith(document.adoptNode(next));
  if (href) document.querySelector<HTMLElement>(`[href="${CSS.escape(href)}"]`)?.focus();
}

customElements.define('live-updates', LiveUpdates);
