import assert from 'node:assert/strict';
import { createCipheriv, scryptSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { hashProblem, verifyHash } from '../../../src/passwords/registry.ts';
import type { Person } from '../../../src/sources/entry.ts';
import { UsageError } from '../../../src/sources/read/records.ts';
import type { Fields } from '../../../src/sources/source.ts';
import { FIREBASE_COLUMNS, firebase, hashConfigOf } from '../../../src/sources/systems/firebase.ts';

/** The published example: https://github.com/firebase/scrypt#password-hashing. */
const EXAMPLE_CONFIG = `hash_config {
  algorithm: SCRYPT,
  base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,
  base64_salt_separator: Bw==,
  rounds: 8,
  mem_cost: 14,
}
`;
const EXAMPLE_HASH = 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==';
const EXAMPLE_USER = { localId: 'kYi4EvWQlQTKSfnJ3dRSP6IH3ed2', passwordHash: EXAMPLE_HASH, salt: '42xEC+ixf3L2lw==' };

const SIGNER_KEY = Buffer.from(Array.from({ length: 64 }, (_, i) => 255 - i));
const SMALL_CONFIG = JSON.stringify({
  hash_config: {
    algorithm: 'SCRYPT',
    base64_signer_key: SIGNER_KEY.toString('base64'),
    base64_salt_separator: 'Bw==',
    rounds: 4,
    mem_cost: 6,
  },
});

/** Computed from the description of the algorithm alone. */
function hashedHere(password: string, salt: Buffer): string {
  const key = scryptSync(password, Buffer.concat([salt, Buffer.from([7])]), 32, { N: 2 ** 6, r: 4, p: 1 });
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(SIGNER_KEY).toString('base64');
}

function personOf(record: Fields, hashConfig?: string): Person {
  const person = firebase.converter(hashConfig === undefined ? {} : { hashConfig })({ localId: 'a1', ...record });
  assert.ok(!('skip' in person));
  return person;
}

function notesOf(record: Fields, hashConfig?: string): string[] {
  return (personOf(record, hashConfig).notes ?? []).map(({ id }) => id);
}

function converted(record: Fields): Record<string, unknown> {
  return JSON.parse(JSON.stringify(firebase.converter({})(record)));
}

describe('Firebase: hashes', () => {
  it("verify with the console's text: the published example", () => {
    const { hash = '' } = personOf(EXAMPLE_USER, EXAMPLE_CONFIG);
    assert.match(hash, /^\$fbscrypt\$v=1,n=14,r=8,p=1,ss=Bw==,sk=jxspr8Ki/);
    assert.equal(hashProblem(hash), undefined);
    assert.equal(verifyHash(hash, 'user1password'), true);
    assert.equal(verifyHash(hash, 'user2password'), false);
  });

  it('verify with the parameters as JSON, also in base64url', () => {
    const salt = Buffer.from('fbff3e3f', 'hex');
    const standard = { passwordHash: hashedHere('correct horse', salt), salt: salt.toString('base64') };
    assert.ok(standard.salt.includes('+'));
    const url = Object.fromEntries(
      Object.entries(standard).map(([name, text]) => [name, Buffer.from(text, 'base64').toString('base64url')]),
    );
    for (const record of [standard, url]) {
      const { hash = '' } = personOf(record, SMALL_CONFIG);
      assert.equal(verifyHash(hash, 'correct horse'), true);
      assert.equal(verifyHash(hash, 'wrong'), false);
    }
  });

  it('that cannot be verified are rejected by name, with a note', () => {
    const cases: [Fields, string | undefined, string, string][] = [
      [EXAMPLE_USER, undefined, '$firebase-scrypt$', 'HASH-CONFIG-MISSING'],
      [{ ...EXAMPLE_USER, passwordHash: 'UkVEQUNURUQ=' }, EXAMPLE_CONFIG, '$firebase-redacted$', 'HASH-REDACTED'],
      [{ ...EXAMPLE_USER, passwordHash: 'UkVEQUNURUQ9PT0=' }, undefined, '$firebase-redacted$', 'HASH-REDACTED'],
      [{ ...EXAMPLE_USER, version: 3 }, EXAMPLE_CONFIG, '$firebase-imported$', 'HASH-NOT-SCRYPT'],
    ];
    for (const [record, config, hash, note] of cases) {
      assert.equal(personOf(record, config).hash, hash);
      assert.match(hashProblem(hash) ?? '', /^unknown scheme/);
      assert.deepEqual(notesOf(record, config), [note]);
    }
    assert.equal(
      verifyHash(personOf({ ...EXAMPLE_USER, version: 0 }, EXAMPLE_CONFIG).hash ?? '', 'user1password'),
      true,
    );
  });

  it('are absent for users without a password', () => {
    assert.equal(personOf({ email: 'ann@example.com', passwordHash: '' }, EXAMPLE_CONFIG).hash, undefined);
    assert.deepEqual(notesOf({ email: 'ann@example.com' }), []);
  });
});

describe('Firebase: the hash config', () => {
  const broken: [string, string, RegExp][] = [
    ['no signer key', EXAMPLE_CONFIG.replace(/base64_signer_key.*\n/, ''), /lacks base64_signer_key/],
    ['no separator', EXAMPLE_CONFIG.replace(/base64_salt_separator.*\n/, ''), /lacks base64_salt_separator/],
    ['no rounds', EXAMPLE_CONFIG.replace(/rounds.*\n/, ''), /lacks rounds/],
    ['no memory', EXAMPLE_CONFIG.replace(/mem_cost.*\n/, ''), /lacks mem_cost/],
    ['a key of too few letters', EXAMPLE_CONFIG.replace('jxspr8', 'j'), /base64_signer_key that is not base64/],
    ['too many rounds', EXAMPLE_CONFIG.replace('rounds: 8', 'rounds: 9'), /rounds that is not 1 to 8/],
    ['too much memory', EXAMPLE_CONFIG.replace('mem_cost: 14', 'mem_cost: 15'), /mem_cost that is not 1 to 14/],
    ['no number', EXAMPLE_CONFIG.replace('rounds: 8', 'rounds: many'), /rounds that is not 1 to 8/],
    ['another algorithm', EXAMPLE_CONFIG.replace('SCRYPT', 'BCRYPT'), /not for the algorithm SCRYPT/],
    ['nothing', '', /lacks base64_signer_key/],
  ];
  for (const [what, hashConfig, message] of broken) {
    it(`is rejected with ${what}, and the message says what to do`, () => {
      assert.throws(
        () => firebase.converter({ hashConfig }),
        (error) => {
          assert.ok(error instanceof UsageError);
          assert.match(error.message, message);
          assert.match(error.message, /Firebase console/);
          assert.ok(!error.message.includes('spr8Ki0RYycVU8'));
          return true;
        },
      );
    });
  }

  it('may write its names in any case', () => {
    const hashConfig = '{"signerKey":"jxspr8Ki0RYycVU8","saltSeparator":"Bw==","rounds":8,"memCost":14}';
    assert.match(
      personOf(EXAMPLE_USER, hashConfig).hash ?? '',
      /^\$fbscrypt\$v=1,n=14,r=8,p=1,ss=Bw==,sk=jxspr8Ki0RYycVU8\$/,
    );
  });
});

describe('Firebase: a user', () => {
  it('of the JSON export is converted with all its fields', () => {
    const person = converted({
      localId: 'a1',
      email: 'ann@example.com',
      emailVerified: true,
      displayName: 'Ann Arbor',
      photoUrl: 'https://example.com/ann.png',
      lastSignedInAt: '1714000000000',
      createdAt: '1704000000000',
      phoneNumber: '+41791234567',
      disabled: true,
      customAttributes: '{"role":"admin"}',
      providerUserInfo: [
        { providerId: 'google.com', rawId: '42', email: 'ann@example.com', displayName: 'Ann A.' },
        { providerId: 'apple.com', rawId: '000.x', email: 'ann@example.com' },
        { providerId: 'password', rawId: 'ann@example.com' },
        { providerId: 'broken' },
      ],
    });
    assert.deepEqual(person, {
      userId: 'a1',
      email: 'ann@example.com',
      emailVerified: true,
      displayName: 'Ann Arbor',
      phone: '+41791234567',
      phoneVerified: true,
      state: 'inactive',
      metadata: { photoUrl: 'https://example.com/ann.png', customAttributes: '{"role":"admin"}' },
      links: [
        { provider: 'google.com', externalUserId: '42', displayName: 'Ann A.' },
        { provider: 'apple.com', externalUserId: '000.x', displayName: 'ann@example.com' },
      ],
      oldSignIn: { ways: ['password', 'mailCode', 'sms', 'provider'] },
      notes: [],
    });
  });

  it("of the CSV export is converted by the command line's columns", () => {
    const cells: Record<number, string> = {
      0: 'a1',
      1: 'ann@example.com',
      2: 'false',
      5: 'Ann',
      11: '77',
      12: 'ann@fb.example',
      23: '1704000000000',
      25: '+41791234567',
      26: 'true',
      27: '{"a":1}',
      48: '99',
    };
    const record = Object.fromEntries(FIREBASE_COLUMNS.map((name, i) => [name, cells[i] ?? '']));
    assert.equal(FIREBASE_COLUMNS.length, 52);
    assert.equal(firebase.recognizes(record, 'csv'), 0.9);
    assert.deepEqual(converted(record), {
      userId: 'a1',
      email: 'ann@example.com',
      emailVerified: false,
      displayName: 'Ann',
      phone: '+41791234567',
      phoneVerified: true,
      state: 'inactive',
      metadata: { customAttributes: '{"a":1}' },
      links: [
        { provider: 'facebook.com', externalUserId: '77', displayName: 'ann@fb.example' },
        { provider: 'yahoo.com', externalUserId: '99' },
      ],
      oldSignIn: { ways: ['sms', 'provider'] },
      notes: [],
    });
  });

  it('of the Admin SDK is converted', () => {
    const salt = Buffer.from('salt');
    const record = {
      uid: 'a1',
      email: 'ann@example.com',
      emailVerified: true,
      photoURL: 'https://example.com/ann.png',
      passwordHash: hashedHere('correct horse', salt),
      passwordSalt: salt.toString('base64'),
      customClaims: { role: 'admin' },
      providerData: [
        { providerId: 'password', uid: 'ann@example.com' },
        { providerId: 'github.com', uid: '7' },
      ],
      multiFactor: { enrolledFactors: [{ factorId: 'totp' }] },
    };
    assert.equal(firebase.recognizes(record, 'json'), 0.9);
    const person = personOf({ ...record, localId: undefined }, SMALL_CONFIG);
    assert.equal(person.userId, 'a1');
    assert.equal(verifyHash(person.hash ?? '', 'correct horse'), true);
    assert.deepEqual(person.links, [{ provider: 'github.com', externalUserId: '7', displayName: undefined }]);
    assert.deepEqual(person.metadata?.customAttributes, { role: 'admin' });
    assert.deepEqual(
      person.notes?.map(({ id }) => id),
      ['SECOND-FACTOR-LOST'],
    );
  });

  it("without an address has the provider's one, as unverified", () => {
    const record = {
      emailVerified: true,
      providerUserInfo: [{ providerId: 'google.com', rawId: '1', email: 'a@example.com' }],
    };
    assert.equal(personOf(record).email, 'a@example.com');
    assert.equal(personOf(record).emailVerified, false);
    assert.deepEqual(notesOf(record), ['EMAIL-OF-PROVIDER']);
  });

  it('is skipped if anonymous, and only then', () => {
    assert.ok('skip' in firebase.converter({})({ localId: 'a1', createdAt: '1704000000000', providerUserInfo: [] }));
    assert.equal(personOf({ phoneNumber: '+41791234567' }).email, undefined);
    assert.equal(personOf({ displayName: 'Ann' }).displayName, 'Ann');
  });

  it('never makes the converter throw', () => {
    const junk = [null, 5, 'x', [], {}, [null, 5, 'x', [], {}]];
    const keys = ['passwordHash', 'salt', 'providerUserInfo', 'mfaInfo', 'customAttributes', 'version', 'email'];
    for (const key of keys) {
      for (const value of junk)
        assert.doesNotThrow(() =>
          firebase.converter({ hashConfig: EXAMPLE_CONFIG })({ ...EXAMPLE_USER, [key]: value }),
        );
    }
  });

  it('is not made from a row of column titles', () => {
    const titles = { localId: 'UID', email: 'Email', emailVerified: 'Email Verified', displayName: 'Name' };
    assert.ok('skip' in firebase.converter({})(titles));
    assert.ok(!('skip' in firebase.converter({})({ ...titles, email: 'uid@example.com' })));
  });

  it("of another system is not recognized as Firebase's", () => {
    const other = Object.fromEntries(FIREBASE_COLUMNS.map((name, i) => [name, `cell ${i}`]));
    assert.equal(firebase.recognizes(other, 'csv'), 0);
    assert.equal(firebase.recognizes({ uid: 'ann', mail: 'ann@example.com' }, 'json'), 0);
  });
});

it('hash parameters of one long word are refused at once', () => {
  assert.throws(() => hashConfigOf('a'.repeat(1_000_000)), /lacks base64_signer_key/);
});
