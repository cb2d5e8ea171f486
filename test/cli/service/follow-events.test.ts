/** Which events are shown while they are followed, of those that the service has at each moment. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Api } from '../../../src/cli/service/api.ts';
import { type AuditEvent, followEvents } from '../../../src/cli/service/events.ts';

const AT = Date.parse('2026-01-31T12:00:00Z');
const event = (sequence: number, seconds: number): AuditEvent => ({
  sequence: String(sequence),
  creationDate: new Date(AT + seconds * 1000).toISOString(),
  type: 'user.locked',
  actor: { kind: 'human' },
  count: 1,
});

/** Searches as the service does, two events a page at most. */
function service(stored: AuditEvent[]) {
  const asked: Record<string, unknown>[] = [];
  async function call(_id: string, { body }: { body: object }) {
    const { from = '', asc = false, pageSize, pageToken = '0', ...filter } = body as Record<string, never>;
    asked.push(filter);
    const sorted = stored
      .filter(({ creationDate }) => creationDate >= from)
      .sort((a, b) => a.creationDate.localeCompare(b.creationDate) || Number(a.sequence) - Number(b.sequence));
    if (!asc) sorted.reverse();
    const [begin, size] = [Number(pageToken), Math.min(2, Number(pageSize))];
    const nextPageToken = begin + size < sorted.length ? String(begin + size) : '';
    return { result: sorted.slice(begin, begin + size), nextPageToken };
  }
  return { call: call as unknown as Api['call'], asked };
}
const numbers = (events: AuditEvent[]) => events.map(({ sequence }) => Number(sequence));

test('the latest events, then each new one once, also one that is stored after later ones', async () => {
  const stored = [event(1, 0), event(2, 10), event(3, 20)];
  const { call, asked } = service(stored);
  const events = followEvents({ call }, { userId: 'ann' });
  assert.deepEqual(numbers(await events.latest(1)), [3]);
  assert.deepEqual(numbers(await events.next()), [], 'not the ones before');
  stored.push(event(5, 22), event(6, 24), event(7, 26));
  assert.deepEqual(numbers(await events.next()), [5, 6, 7], 'over several pages');
  stored.push(event(4, 21));
  assert.deepEqual(numbers(await events.next()), [4], 'a slow transaction');
  stored.push(event(8, 500), event(9, 501));
  assert.deepEqual(numbers(await events.next()), [8, 9]);
  assert.deepEqual(numbers(await events.next()), []);
  assert(asked.every(({ userId }) => userId === 'ann'));
});

test('from the first event on, where there was none', async () => {
  const stored: AuditEvent[] = [];
  const events = followEvents(service(stored), {});
  assert.deepEqual([await events.latest(50), await events.next()], [[], []]);
  stored.push(event(1, 0));
  assert.deepEqual(numbers(await events.next()), [1]);
});
