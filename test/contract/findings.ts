/** The problems that a fuzzer found, each kind once, with the shortest request that shows it. */
import type { Draft } from './requests.ts';
import type { Sent } from './send.ts';

export interface Finding {
  what: string;
  times: number;
  request: string;
  answer: string;
}

export interface Findings {
  note(draft: Draft, sent: Sent, problem: string, answer: string): void;
  list(): Finding[];
}

export function openFindings(): Findings {
  const found = new Map<string, Finding>();
  return {
    list: () => [...found.values()],
    note({ operation, sender }, sent, problem, answer) {
      const what = `${operation.id}: ${problem.slice(0, 200).replace(/\/\d+(?=\/| )/g, '/#')}`;
      const now = { request: `${sender} ${textOf(sent)}`, answer: answer.slice(0, 500) };
      const before = found.get(what);
      const shorter = before && before.request.length <= now.request.length ? before : now;
      found.set(what, { ...shorter, what, times: (before?.times ?? 0) + 1 });
    },
  };
}

function textOf({ method, path, headers, body }: Sent): string {
  const shown = Object.entries(headers ?? {}).filter(([name]) => name !== 'authorization');
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? String(body) : JSON.stringify(body);
  return `${method} ${path} ${JSON.stringify(shown)} ${text?.slice(0, 1500) ?? ''}`;
}
