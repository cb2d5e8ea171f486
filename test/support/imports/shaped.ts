/** Bodies of entries that are written alike, and their steps with and without unparsed entries. */
import { DataOrgsParser } from '../../../src/imports/entries/data-orgs.ts';
import type { ShapedEntries, Step } from '../../../src/imports/entries/parser.ts';
import { EntryShapes, marksAt, parseAt } from '../../../src/imports/intake/fast/alike-entries.ts';
import fc from '../fast-check.ts';
import { HASH } from './imports.ts';

const odd = fc.constantFrom<unknown>(
  null,
  0,
  true,
  [],
  {},
  '',
  'x'.repeat(201),
  '😀'.repeat(60),
  '\0',
  'a\tb',
  '\\N',
  '"',
);
const mostly = (...usual: unknown[]) =>
  fc.oneof({ weight: 80, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: odd });
const text = mostly('Ann', 'Müller', 'İ', 'e\u0301', 'Žižek', 'ANN', 'x'.repeat(200), 'a\x7f', '/', ',{"userId":');
/** Usually the first one. */
const chiefly = (usual: unknown, ...rare: unknown[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...rare) });
const rarely = fc.oneof({ weight: 20, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constant('x') });

/** Entries with the fields of a common one, some of them in another order or with one more or less. */
export const commonEntry = fc
  .record({
    userId: mostly('1', '2', '291800000000000042', 'auth0|6042'),
    state: fc.option(chiefly('USER_STATE_LOCKED', 'USER_STATE_ACTIVE', 'USER_STATE_INITIAL'), { freq: 2 }),
    userName: fc.option(text, { freq: 6 }),
    firstName: text,
    lastName: text,
    more: fc.option(fc.record({ nickName: text, gender: chiefly('GENDER_MALE', 'GENDER_X'), displayName: text }), {
      freq: 2,
    }),
    preferredLanguage: chiefly('de-CH', '', 'en', 'english-language'),
    email: chiefly(
      'Ann.B@Example.com',
      '"a b"@c',
      'MÜLLER@x.y',
      'Ann <a@b.c>',
      'a\u200bb@c',
      'a@XN--MNCHEN-3YA.de',
      'ž@ﬁ.si',
    ),
    verified: fc.option(mostly(true, false), { freq: 3 }),
    phone: fc.option(fc.tuple(text, fc.boolean()), { freq: 2 }),
    hash: fc.option(chiefly(HASH, '$9$x'), { freq: 8 }),
    change: fc.option(fc.boolean(), { freq: 2 }),
    unknown: rarely,
    reversed: fc.boolean(),
  })
  .map((v) => {
    const when = (value: unknown, fields: object) => (value === null ? {} : fields);
    const user = {
      ...when(v.userName, { userName: v.userName }),
      profile: { firstName: v.firstName, lastName: v.lastName, ...v.more, preferredLanguage: v.preferredLanguage },
      email: { email: v.email, ...when(v.verified, { isEmailVerified: v.verified }) },
      ...when(v.phone, { phone: { phone: v.phone?.[0], isPhoneVerified: v.phone?.[1] } }),
      ...when(v.hash, { hashedPassword: { value: v.hash } }),
      ...when(v.change, { passwordChangeRequired: v.change }),
      ...when(v.unknown, { note: v.unknown }),
    };
    const entry = { userId: v.userId, ...when(v.state, { state: v.state }), user };
    return v.reversed ? Object.fromEntries(Object.entries(entry).reverse()) : entry;
  });

/** Runs of entries, most of which repeat the layout of another one. */
export const commonEntries = fc
  .tuple(fc.array(commonEntry, { minLength: 1, maxLength: 5 }), fc.array(fc.nat(), { minLength: 3, maxLength: 40 }))
  .map(([kinds, order]) => order.map((n) => kinds[n % kinds.length] as object));

/** The steps of a body that comes in these pieces. */
export function shapedSteps(pieces: Uint8Array[]): Step[] {
  const parser = new DataOrgsParser();
  parser.findShaped(new EntryShapes());
  return [...pieces.flatMap((piece) => parser.push(Buffer.from(piece))), ...parser.end()];
}

export function parseAll(shaped: ShapedEntries): unknown[] {
  const entries: unknown[] = [];
  for (let at = 0; at < shaped.marks.length; at += marksAt(shaped, at)) entries.push(parseAt(shaped, at));
  return entries;
}
