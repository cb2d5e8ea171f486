/** Follows an import by its Server-Sent Events: a live bar on a terminal, plain lines elsewhere. */
import { SingleBar } from 'cli-progress';

export interface Progress {
  importId: string;
  state: string;
  counts: { total: number; pending: number; succeeded: number; failed: number };
  mails: { pending: number; sent: number; failed: number };
  usersPerSecond: number;
  eta: string | null;
}

const LINE_EVERY_MS = 1000;

/** Resolves with the last state when the import has ended. */
export async function watch(url: string, token: string): Promise<Progress> {
  const show = process.stdout.isTTY ? bar() : lines();
  let last: Progress | undefined;
  for await (const progress of events(url, token)) {
    last = progress;
    show.update(progress);
  }
  show.stop();
  if (!last) throw new Error('the stream of progress ended before it began');
  return last;
}

async function* events(url: string, token: string): AsyncGenerator<Progress> {
  const res = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  if (!res.ok || !res.body) throw new Error(`the stream of progress answered ${res.status}`);
  let text = '';
  for await (const chunk of res.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const parts = text.split('\n\n');
    text = parts.pop() as string;
    for (const part of parts) if (part.startsWith('data: ')) yield JSON.parse(part.slice(6)) as Progress;
  }
}

interface Display {
  update(progress: Progress): void;
  stop(): void;
}

function done(p: Progress): number {
  return p.counts.total - p.counts.pending;
}

function remaining(p: Progress): string {
  return p.eta ? `${Math.max(0, Math.round((Date.parse(p.eta) - Date.now()) / 1000))} s left` : '';
}

function bar(): Display {
  const b = new SingleBar({
    format: '  {bar} {percentage}%  {value}/{total} users  {rate}/s  {left}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
  });
  let started = false;
  return {
    update(p) {
      const payload = { rate: Math.round(p.usersPerSecond), left: remaining(p) };
      if (started) b.update(done(p), payload);
      else b.start(p.counts.total, done(p), payload);
      started = true;
    },
    stop: () => b.stop(),
  };
}

function lines(): Display {
  let printedAt = 0;
  let last: Progress | undefined;
  const print = (p: Progress) =>
    console.log(`  ${done(p)}/${p.counts.total} users  ${Math.round(p.usersPerSecond)}/s  ${remaining(p)}`.trimEnd());
  return {
    update(p) {
      last = p;
      if (Date.now() - printedAt < LINE_EVERY_MS) return;
      printedAt = Date.now();
      print(p);
    },
    stop() {
      if (last) print(last);
    },
  };
}
