/**
 * The work for a body grows with its bytes, not with the number of its chunks times the length of what is unfinished.
 *
 * The time is that of the processor, and its limit is generous: if each chunk copied or searched the unfinished part,
 * it would be many minutes on any machine.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DataOrgsParser } from '../../../src/imports/entries/data-orgs.ts';
import type { Step } from '../../../src/imports/entries/parser.ts';
import { EntryShapes } from '../../../src/imports/intake/fast/alike-entries.ts';
import { cpuMs } from '../../support/cpu.ts';
import { refusal } from '../../support/imports/parse.ts';

const MOST_MS = 30_000;
const ENTRY = 7_900_000;
const TOKEN = 2 ** 20 - 100;

const org = (users: string) => `{"orgId":"o","humanUsers":[${users}`;
const START = `{"timeout":"1h","dataOrgs":{"orgs":[${org('')}`;
const END = ']}]}}';
const user = (id: string, space = '') =>
  `{"userId":"${id}","user":{${space}"profile":{"firstName":"Ann","lastName":"B"},"email":{"email":"a@example.com"}}}`;
const common = Array.from({ length: 20 }, (_, n) => user(`u${n}`)).join();

/** The name, what precedes the long part, the piece that is repeated, how many bytes of it there are, and the rest. */
const BODIES: [what: string, head: string, piece: string, bytes: number, tail: string][] = [
  ['a string of an entry', `${START}${common},{"userId":"`, 'abcd', ENTRY, `"}${END}`],
  ['a string whose escapes are cut', `${START}${common},{"userId":"\\`, '"ab\\', ENTRY, `""}${END}`],
  ['a nested value of an entry', `${START}${common},{"x":[0`, ',[1]', ENTRY, `]}${END}`],
  ['white space before an entry', `${START}${common},`, '    ', ENTRY, `${user('u')}${END}`],
  ['white space after an entry', `${START}${common}`, '\n\n\n\n', ENTRY, `,${user('u')}${END}`],
  ['white space in front of all', '', '  \r\n', ENTRY, `${START}${common}${END}`],
  ['white space behind all', `${START}${common}${END}`, '  \r\n', ENTRY, ''],
  ['a string outside of the users', '{"x":"', 'a', TOKEN, `","dataOrgs":{"orgs":[]}}`],
  ['a key outside of the users', '{"', 'k', TOKEN, `":1,"dataOrgs":{"orgs":[]}}`],
  ['a number outside of the users', '{"x":1', '0', TOKEN, `,"dataOrgs":{"orgs":[]}}`],
  ['an unknown object', '{"x":{"y":[0', ',[1]', ENTRY, ']},"dataOrgs":{"orgs":[]}}'],
];

/** Pushes the head as one chunk, then each piece as one. */
function trickle(head: string, piece: string, bytes: number, tail: string): { last: Step[]; ms: number } {
  const parser = new DataOrgsParser();
  parser.findShaped(new EntryShapes());
  parser.push(Buffer.from(head));
  const chunk = Buffer.from(piece);
  const ms = cpuMs(() => {
    for (let sent = 0; sent < bytes; sent += chunk.length) {
      // The steps of a failed parser are empty, which would make the test pass without any work.
      for (const step of parser.push(chunk)) assert.notEqual(step.type, 'error');
    }
  });
  return { last: [...parser.push(Buffer.from(tail)), ...parser.end()], ms };
}

describe('a body in chunks of a few bytes is read once', () => {
  for (const [what, head, piece, bytes, tail] of BODIES) {
    it(`in ${what}`, () => {
      const { last, ms } = trickle(head, piece, bytes, tail);
      assert.equal(refusal(last), undefined);
      assert.equal(last.at(-1)?.type, 'end');
      assert.ok(ms < MOST_MS, `${ms} ms`);
    });
  }

  it('in an entry with the wide white space of an entry before it', () => {
    const [before, after] = user('u', ' '.repeat(ENTRY / 4)).split(' '.repeat(ENTRY / 4)) as [string, string];
    const wide = `${user('u', ' '.repeat(ENTRY / 4))},`;
    const { last, ms } = trickle(`${START}${wide.repeat(2)}${before}`, ' ', ENTRY / 4, `${after}${END}`);
    assert.equal(refusal(last), undefined);
    assert.ok(ms < MOST_MS, `${ms} ms`);
  });
});

it('a large chunk is not searched again for each of the arrays in it', () => {
  const parser = new DataOrgsParser();
  // The last comma is guessed only after one has been seen before an entry that is cut.
  const cut = user('v');
  parser.push(Buffer.from(`${START}${common},${cut.slice(0, 20)}`));
  parser.push(Buffer.from(`${cut.slice(20)}]}`));
  const chunk = Buffer.from(`,${org(']}')}`.repeat(200_000)); // 6 MB; over 500 GB if each array searched the rest
  const ms = cpuMs(() => assert.equal(refusal(parser.push(chunk)), undefined));
  assert.equal(refusal(parser.push(Buffer.from(']}}'))), undefined);
  assert.equal(parser.end().at(-1)?.type, 'end');
  assert.ok(ms < MOST_MS, `${ms} ms`);
});
