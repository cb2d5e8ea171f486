/**
 * One file on its way to the service, by the tus protocol.
 *
 * The browser reads the file slice by slice from the disk, so it is never in the memory of the page. After an
 * interruption of any kind the service is asked where the file ends there, and the upload continues there.
 */

const SLICE = 8 * 2 ** 20;
const TUS = '1.0.0';
/** Pauses between attempts; the last one is repeated. */
const PAUSES_MS = [500, 1000, 2000, 4000, 8000];
/** Without any progress for this long, a request is given up and repeated. */
const SILENCE_MS = 60_000;
/** The speed is that of the last seconds. */
const RATE_MS = 5000;

/** `waiting` and `busy` end by themselves; `signed-out` when the person signs in; `gone` and `refused` do not end. */
export type UploadState = 'uploading' | 'paused' | 'waiting' | 'busy' | 'signed-out' | 'done' | 'gone' | 'refused';

interface Answer {
  status: number;
  offset: number | undefined;
  retryMs: number | undefined;
  problem: string;
}

export class Upload {
  readonly file: File;
  readonly url: string;
  state: UploadState = 'paused';
  /** Why the service refused it. */
  problem = '';
  /** Bytes that have arrived, as far as this page knows. */
  offset: number;
  #changed: () => void;
  #request: XMLHttpRequest | undefined;
  #wake: (() => void) | undefined;
  #isRunning = false;
  #samples: { at: number; offset: number }[] = [];

  /** @param url of the file on the service @param changed is called after every change */
  constructor(file: File, url: string, offset: number, changed: () => void) {
    this.file = file;
    this.url = url;
    this.offset = offset;
    this.#changed = changed;
  }

  /** Whether it still needs this page. */
  get isOpen(): boolean {
    return this.state !== 'done' && this.state !== 'gone' && this.state !== 'refused';
  }

  /** Bytes per second over the last seconds; 0 if it is not known yet. */
  get rate(): number {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || !last || last.at - first.at < 200) return 0;
    return ((last.offset - first.offset) / (last.at - first.at)) * 1000;
  }

  start(): void {
    this.#set('uploading');
    if (!this.#isRunning) void this.#run();
    this.#wake?.();
  }

  pause(): void {
    if (this.isOpen) this.#set('paused');
    this.#request?.abort();
    this.#wake?.();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    let failures = 0;
    let isKnown = true;
    while (this.isOpen && this.state !== 'paused') {
      const answer = isKnown ? await this.#send() : await this.#ask();
      const { offset } = answer;
      if (answer.status === 204 || answer.status === 200) {
        if (offset !== undefined) this.#move(offset);
        failures = 0;
        isKnown = true;
        if ((this.state as UploadState) !== 'paused') this.#set(this.offset >= this.file.size ? 'done' : 'uploading');
        continue;
      }
      isKnown = false;
      if ((this.state as UploadState) === 'paused') break;
      this.problem = answer.problem;
      this.#set(stateFor(answer.status));
      if (!this.isOpen) break;
      // Another request has just stored more, or the end of this one was cut off: ask at once.
      if (answer.status === 409 && failures++ < 1) continue;
      await this.#sleep(answer.retryMs ?? PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)] ?? 0);
    }
    this.#isRunning = false;
  }

  #send(): Promise<Answer> {
    const from = this.offset;
    const slice = this.file.slice(from, from + SLICE);
    return this.#exchange('PATCH', slice, {
      'Upload-Offset': String(from),
      'Content-Type': 'application/offset+octet-stream',
    });
  }

  #ask(): Promise<Answer> {
    return this.#exchange('HEAD', null, {});
  }

  /** A request that brought no answer has the status 0. */
  #exchange(method: string, body: Blob | null, headers: Record<string, string>): Promise<Answer> {
    const from = this.offset;
    const request = new XMLHttpRequest();
    this.#request = request;
    request.open(method, this.url);
    for (const [name, value] of Object.entries({ 'Tus-Resumable': TUS, ...headers }))
      request.setRequestHeader(name, value);
    return new Promise((resolve) => {
      let timer = setTimeout(() => request.abort(), SILENCE_MS);
      request.upload.addEventListener('progress', ({ loaded }) => {
        clearTimeout(timer);
        timer = setTimeout(() => request.abort(), SILENCE_MS);
        this.#move(from + loaded);
      });
      request.addEventListener('loadend', () => {
        clearTimeout(timer);
        if (request.status !== 204 && request.status !== 200) this.#move(from);
        resolve({
          status: request.status,
          offset: numberOf(request.getResponseHeader('Upload-Offset')),
          retryMs: numberOf(request.getResponseHeader('Retry-After'), 1000),
          problem: request.status >= 400 ? messageIn(request.responseText) : '',
        });
      });
      request.send(body);
    });
  }

  #move(offset: number): void {
    this.offset = offset;
    const now = performance.now();
    // Not with every event: the speed would be that of buffers.
    if (now - (this.#samples.at(-1)?.at ?? 0) > 100) this.#samples.push({ at: now, offset });
    while (this.#samples.length > 1 && now - (this.#samples[0]?.at ?? now) > RATE_MS) this.#samples.shift();
    this.#changed();
  }

  #set(state: UploadState): void {
    if (state !== 'uploading') this.#samples = [];
    const isNew = this.state !== state;
    this.state = state;
    if (isNew) this.#changed();
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** What a refusal means for the upload. */
function stateFor(status: number): UploadState {
  if (status === 401) return 'signed-out';
  if (status === 404) return 'gone';
  if (status === 429 || status === 503) return 'busy';
  // No answer, a lock, or a fault on the way: these pass.
  return status === 0 || status === 409 || status >= 500 ? 'waiting' : 'refused';
}

function messageIn(answer: string): string {
  try {
    return (JSON.parse(answer) as { message?: string }).message ?? '';
  } catch {
    return ''; // of a proxy
  }
}

function numberOf(text: string | null, times = 1): number | undefined {
  return text !== null && /^\d+$/.test(text) ? Number(text) * times : undefined;
}
