/** A body gives the same result with guessed commas as without: see src/imports/entries/data-orgs.ts. */
import assert from 'node:assert/strict';
import { it, mock } from 'node:test';
import { DataOrgsParser, LastComma } from '../../../src/imports/entries/data-orgs.ts';
import { MAX_DEPTH } from '../../../src/imports/entries/parser.ts';
import fc from '../../support/fast-check.ts';
import { around, cutAt, merge, refusal, usersOf } from '../../support/imports/parse.ts';

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const plain = (n: number) => `{"userId":"u${n}","user":{"userName":"n${n}"}}`;
/** Entries whose text contains what looks like the end of an entry, and some that end bodies. */
const ENTRIES: ((n: number) => string)[] = [
  plain,
  (n) => `{"userId":"u${n}","user":{"metadata":[${plain(1)},${plain(2)}]}}`,
  (n) => `{"userId":"u${n}","user":{"userName":"},{\\"userId\\":"}}`,
  (n) => `{"user":{"userName":"ü}],{"},"userId":"u${n}"}`,
  (n) => `[${plain(n)},{"userId":3}]`,
];
const BAD = ['{"userId":}', '', `{"userId":"u","x":${nested(MAX_DEPTH)}}`, '"\ud800'.slice(0, 1), '}', ']'];

/** The steps, with or without guesses, and how many guesses were right. */
function read(body: Buffer, at: number[] | 'every byte', guesses: boolean) {
  let held = 0;
  const guess = LastComma.prototype.guess;
  const miss = mock.method(LastComma.prototype, 'miss', () => held--);
  const spied = mock.method(LastComma.prototype, 'guess', function (this: LastComma, buffer: Buffer, from: number) {
    const comma = guesses ? guess.call(this, buffer, from) : -1;
    if (comma >= 0) held++;
    return comma;
  });
  const parser = new DataOrgsParser();
  const all = merge([...cutAt(body, at).flatMap((piece) => parser.push(Buffer.from(piece))), ...parser.end()]);
  spied.mock.restore();
  miss.mock.restore();
  return { users: usersOf(all), refusal: refusal(all), last: all.at(-1)?.type, held };
}

const cuts = fc.array(fc.nat(20_000), { maxLength: 30 });
const entries = fc.array(fc.nat(ENTRIES.length - 1), { minLength: 5, maxLength: 60 });

it('a valid body gives the same steps', () => {
  let held = 0;
  fc.assert(
    fc.property(entries, cuts, (kinds, at) => {
      const texts = kinds.map((kind, n) => (ENTRIES[kind] as (n: number) => string)(n));
      const body = Buffer.from(around(`[${texts.join()}]`));
      const guessed = read(body, at, true);
      held += guessed.held;
      assert.deepEqual(guessed.users, JSON.parse(`[${texts.join()}]`));
      assert.equal(guessed.last, 'end');
    }),
    { numRuns: 300 },
  );
  assert.ok(held > 100, `${held} guesses were right`);
});

it('an invalid body gives the same error after the same steps', () => {
  fc.assert(
    fc.property(entries, cuts, fc.nat(), fc.constantFrom(...BAD), (kinds, at, place, bad) => {
      const texts = kinds.map((kind, n) => (ENTRIES[kind] as (n: number) => string)(n));
      texts.splice(place % texts.length, 1, bad);
      const body = Buffer.from(around(`[${texts.join()}]`));
      const { held: _held, users, ...guessed } = read(body, at, true);
      const { held: _none, users: known, ...exact } = read(body, at, false);
      assert.deepEqual(guessed, exact);
      const both = Math.min(users.length, known.length);
      assert.deepEqual(users.slice(0, both), known.slice(0, both));
    }),
    { numRuns: 300 },
  );
});

it('no more guesses are made after three wrong ones', () => {
  const comma = new LastComma();
  const buffer = Buffer.from('{"a":1},{"userId":2},{"userId":3}');
  comma.learn(buffer, 7);
  assert.equal(comma.guess(buffer, 0), 20);
  assert.equal(comma.guess(buffer, 21), -1);
  for (let n = 0; n < 3; n++) comma.miss();
  assert.equal(comma.guess(buffer, 0), -1);
});
