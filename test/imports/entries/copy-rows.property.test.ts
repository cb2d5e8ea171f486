/** Any JSON value becomes a row, and PostgreSQL reads back exactly what was written. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { CopyRows } from '../../../src/imports/entries/copy-rows.ts';
import { itemFacts } from '../../../src/imports/entries/facts.ts';
import { COLUMNS, copyLine, type Item, itemValues } from '../../../src/imports/entries/item.ts';
import { linkNames } from '../../../src/imports/entries/link-names.ts';
import { openCopyWriter } from '../../../src/imports/intake/copy.ts';
import { withoutUnseen } from '../../../src/platform/text/visible.ts';
import fc from '../../support/fast-check.ts';
import { HASH, type Row } from '../../support/imports/imports.ts';
import { judge } from '../../support/imports/judge.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const tricky = fc.constantFrom(
  '\\N',
  '\\.',
  '\\',
  '\\\\',
  '\t',
  '\n',
  '\r\n',
  '\b\f\v',
  '\u2028',
  '\ufeff',
  '\\x41',
  '\\123',
  '"',
  "'",
  '\\N\n\\.\n',
  'NULL',
  'ž😀',
);
const text = fc.oneof(
  tricky,
  fc.array(fc.oneof(tricky, fc.string({ unit: 'binary', maxLength: 5 })), { maxLength: 6 }).map((p) => p.join('')),
);
const word = text.map((s) => `x${s.replaceAll('\0', '')}`);
const base64 = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((b) => Buffer.from(b).toString('base64'));

const goodEntry = fc.record(
  {
    userId: word.map((s) => s.replaceAll(/\p{Cc}/gu, '_')),
    state: fc.constantFrom('USER_STATE_ACTIVE', 'USER_STATE_INACTIVE', 'USER_STATE_LOCKED'),
    user: fc.record(
      {
        userName: word.map((s) => withoutUnseen(s, ' ')),
        profile: fc.record(
          {
            firstName: word,
            lastName: word,
            nickName: word,
            displayName: word,
            preferredLanguage: fc.constantFrom('', 'de-CH'),
          },
          { requiredKeys: ['firstName', 'lastName'] },
        ),
        email: fc.record(
          { email: fc.constantFrom('"a\\\\N\\" b"@c', 'ž@b', 'Ann@Example.com'), isEmailVerified: fc.boolean() },
          { requiredKeys: ['email'] },
        ),
        phone: fc.record({ phone: word, isPhoneVerified: fc.boolean() }, { requiredKeys: ['phone'] }),
        hashedPassword: fc.constant({ value: HASH }),
        otpCode: fc.constantFrom('', 'gezd gnbv gy3t qojq'),
        passwordChangeRequired: fc.boolean(),
        metadata: fc.uniqueArray(fc.record({ key: word, value: base64 }), { selector: (m) => m.key, maxLength: 3 }),
        idps: fc.uniqueArray(fc.record({ configId: word, externalUserId: word, displayName: word }), {
          selector: (i) => JSON.stringify([i.configId, i.externalUserId]),
          maxLength: 2,
        }),
      },
      { requiredKeys: ['profile', 'email'] },
    ),
  },
  { requiredKeys: ['user'] },
);

const json = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' });
const KEYS = [
  'userId',
  'user_id',
  'state',
  'user',
  'userName',
  'user_name',
  'profile',
  'email',
  'isEmailVerified',
  'phone',
  'password',
  'hashedPassword',
  'value',
  'metadata',
  'key',
  'idps',
  'otpCode',
  '__proto__',
  'constructor',
  'a\0',
];
/** Objects that often have valid field names and rarely valid values. */
const nearMiss = fc.letrec((tie) => ({
  object: fc.dictionary(
    fc.constantFrom(...KEYS),
    fc.oneof({ depthSize: 'small', withCrossShrink: true }, json, tie('object'), tie('list'), word),
  ),
  list: fc.array(fc.oneof(json, tie('object')), { maxLength: 3 }),
})).object;

let db: TestDatabase;
before(async () => {
  db = await testDatabase({ name: 'item_rows' });
});
after(() => db.drop());

/** Writes the items as an import does, and reads them back as the driver returns them. */
async function roundTrip(items: Item[]): Promise<Row[]> {
  await db.pool.query('delete from import_items');
  const writer = openCopyWriter(db.pool, async () => {});
  const rows = new CopyRows();
  for (const [ordinal, item] of items.entries()) {
    rows.add(copyLine('1', ordinal, 0, ordinal % 2 === 1, item));
    if (ordinal % 3 > 0) rows.clear(await writer.write(rows.lines));
  }
  if (rows.length > 0) await writer.write(rows.lines);
  await writer.flush();
  return (await db.pool.query(`select ${COLUMNS.join(', ')} from import_items order by ordinal`)).rows;
}

function expectedRow(item: Item, ordinal: number): Row {
  const head = { import_id: '1', ordinal, org_index: 0, maybe_duplicate: ordinal % 2 === 1 };
  const rest = COLUMNS.slice(4);
  if (item.state === 'failed') {
    const { state, userId: user_id, userName: user_name, error, entrySealed: entry_sealed } = item;
    const told = { state, user_id, user_name, error, entry_sealed };
    return { ...head, ...Object.fromEntries(rest.map((c) => [c, null])), ...told };
  }
  const values = itemValues(item).slice(1);
  const { emailVerified: email_verified, phoneVerified: phone_verified, extras, gender } = item;
  const typed = {
    email_verified,
    phone_verified,
    password_change_required: item.passwordChangeRequired,
    gender,
    extras,
    sign_in: itemFacts(item),
    links: linkNames(item),
  };
  return { ...head, ...Object.fromEntries(rest.map((c, i) => [c, values[i]])), ...typed };
}

// A failure is reported as it is: to shrink it takes thousands of round trips, up to the time limit of the run.
it('a valid entry comes back from COPY in every field', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(goodEntry, { minLength: 1, maxLength: 20 }), async (entries) => {
      const items = entries.map((entry) => judge(structuredClone(entry)).item);
      for (const [i, item] of items.entries()) {
        assert.equal(item.state, 'pending', JSON.stringify([item.error, entries[i]]));
      }
      assert.deepEqual(await roundTrip(items), items.map(expectedRow));
    }),
    { numRuns: 30, endOnFailure: true },
  );
});

for (const strict of [false, true]) {
  it(`any JSON value becomes a row that can be written${strict ? ', with unknown fields as errors' : ''}`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(json, nearMiss), { minLength: 1, maxLength: 30 }), async (values) => {
        const items = values.map((value) => judge(JSON.parse(JSON.stringify(value)), { strict }).item);
        assert.deepEqual(await roundTrip(items), items.map(expectedRow));
      }),
      { numRuns: 40, endOnFailure: true },
    );
  });
}
