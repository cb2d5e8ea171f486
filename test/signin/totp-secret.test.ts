import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  keyOfText,
  newTotpSecret,
  readTotpKey,
  stepOfCode,
  totpAddress,
  totpText,
} from '../../src/passwords/totp-secret.ts';
import fc from '../support/fast-check.ts';
import { base32, codeAt } from '../support/totp.ts';

/** `12345678901234567890`, the key of RFC 6238 appendix B. */
const RFC_SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const USUAL = { algorithm: 'SHA1', digits: 6, periodS: 30 } as const;
const RFC_KEY = { secret: RFC_SECRET, ...USUAL };

const problemOf = (text: string) => {
  const read = readTotpKey(text);
  return 'problem' in read ? read.problem : undefined;
};

describe('a code', () => {
  // RFC 6238 appendix B, SHA1; a code of six digits is the last six of the eight printed there.
  for (const [seconds, code] of [
    [59, '287082'],
    [1111111109, '081804'],
    [1111111111, '050471'],
    [1234567890, '005924'],
    [2000000000, '279037'],
    [20000000000, '353130'],
  ] as const) {
    it(`at ${seconds} seconds matches RFC 6238`, () => {
      assert.equal(stepOfCode(RFC_KEY, code, seconds * 1000, 1), Math.floor(seconds / 30));
      assert.equal(codeAt(RFC_SECRET, seconds * 1000), code);
    });
  }

  it('is accepted one step before and after its own, and no further', () => {
    const at = 1_700_000_010_000; // the start of a step
    const step = at / 30_000;
    const code = codeAt(RFC_SECRET, at);
    for (const [shift, found] of [
      [-30_001, undefined],
      [-30_000, step],
      [-1, step],
      [0, step],
      [29_999, step],
      [59_999, step],
      [60_000, undefined],
    ] as const) {
      assert.equal(stepOfCode(RFC_KEY, code, at + shift, 1), found, `${shift} ms`);
    }
  });

  it('may be typed in groups; anything but six digits is not a code', () => {
    assert.equal(stepOfCode(RFC_KEY, ' 287 082\t', 59_000, 1), 1);
    for (const code of ['', '28708', '2870820', '28708x', '-287082', '２８７０８２', '287,082', '0x1234']) {
      assert.equal(stepOfCode(RFC_KEY, code, 59_000, 1), undefined, code);
    }
  });
});

describe('a key with other parameters', () => {
  /** The keys of RFC 6238 appendix B: as long as the digest. */
  const ofBytes = (count: number) => base32(Buffer.from('1234567890'.repeat(7).slice(0, count)));
  // RFC 6238 appendix B.
  for (const [algorithm, bytes, seconds, code] of [
    ['SHA1', 20, 59, '94287082'],
    ['SHA256', 32, 59, '46119246'],
    ['SHA512', 64, 59, '90693936'],
    ['SHA256', 32, 1111111109, '68084774'],
    ['SHA512', 64, 1111111109, '25091201'],
    ['SHA256', 32, 20000000000, '77737706'],
    ['SHA512', 64, 20000000000, '47863826'],
  ] as const) {
    it(`has the code of ${algorithm} at ${seconds} seconds that RFC 6238 prints`, () => {
      const key = { secret: ofBytes(bytes), algorithm, digits: 8, periodS: 30 } as const;
      assert.equal(stepOfCode(key, code, seconds * 1000, 0), Math.floor(seconds / 30));
      assert.equal(stepOfCode(key, code.slice(2), seconds * 1000, 0), undefined);
      assert.equal(stepOfCode({ ...key, digits: 6 }, code.slice(2), seconds * 1000, 0), Math.floor(seconds / 30));
    });
  }

  it('counts steps of its period', () => {
    const key = { ...RFC_KEY, periodS: 60 };
    // At 118 s of steps of 60 s, the counter is that of 59 s of steps of 30 s.
    assert.equal(stepOfCode(key, '287082', 118_000, 0), 1);
  });

  it('is stored with its parameters; the usual ones as the secret alone', () => {
    assert.equal(totpText(RFC_KEY), RFC_SECRET);
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 10, maxLength: 64 }),
        fc.constantFrom('SHA1' as const, 'SHA256' as const, 'SHA512' as const),
        fc.constantFrom(6 as const, 8 as const),
        fc.integer({ min: 10, max: 300 }),
        (bytes, algorithm, digits, periodS) => {
          const key = { secret: base32(bytes), algorithm, digits, periodS };
          assert.deepEqual(keyOfText(totpText(key)), key);
          assert.deepEqual(readTotpKey(totpAddress(key, { issuer: 'ACME', account: 'ann' })), key);
        },
      ),
    );
    assert.throws(() => keyOfText('otpauth://totp/?secret=GEZDGNBV'), /cannot be read/);
  });

  it('may have 128 bytes for SHA-512 only', () => {
    const secret = base32(randomBytes(128));
    assert.equal('secret' in readTotpKey(secret, { algorithm: 'SHA512' }), true);
    assert.equal('secret' in readTotpKey(secret, { algorithm: 'SHA256' }), false);
  });
});

describe('a secret from another program', () => {
  it('is accepted as people copy it', () => {
    for (const text of [
      RFC_SECRET,
      RFC_SECRET.toLowerCase(),
      'gezd gnbv gy3t qojq gezd gnbv gy3t qojq',
      ' GEZD-GNBV-GY3T-QOJQ-GEZD-GNBV-GY3T-QOJQ\n',
    ]) {
      assert.deepEqual(readTotpKey(text), RFC_KEY);
    }
    // 16 bytes: 26 characters and 6 of padding.
    const padded = `${base32(Buffer.alloc(16, 0xa5))}======`;
    assert.deepEqual(readTotpKey(padded), { secret: padded.replaceAll('=', ''), ...USUAL });
  });

  it('of any allowed length is preserved', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 10, maxLength: 64 }), (bytes) => {
        const secret = base32(bytes);
        assert.deepEqual(readTotpKey(secret), { secret, ...USUAL });
        assert.equal(
          stepOfCode({ secret, ...USUAL }, codeAt(secret, 1_700_000_000_000), 1_700_000_000_000, 1),
          56666666,
        );
      }),
    );
  });

  it('has at least 80 bits, and at most the 64 bytes of the HMAC block size', () => {
    assert.equal(problemOf(base32(randomBytes(10))), undefined);
    assert.equal(problemOf(base32(randomBytes(64))), undefined);
    for (const bytes of [1, 9, 65, 200]) {
      assert.match(problemOf(base32(randomBytes(bytes))) as string, /10 to 64 bytes/, `${bytes}`);
    }
    assert.match(problemOf('A'.repeat(501)) as string, /at most 500 characters/);
  });

  it('with surplus bits is read as apps read it: they are dropped', () => {
    assert.deepEqual(readTotpKey(`${RFC_SECRET}7`), RFC_KEY);
  });

  it('that is not base32 is refused, and is not quoted', () => {
    for (const text of [
      '123456',
      'GEZDGNBVGY3TQOJ0',
      'GEZDGNBVGY3TQOJ1',
      'GEZD=GNBVGY3TQOJQ',
      '=====',
      'GEZDGNBVGY3TQOJQ=======',
      'geſdgnbvgy3tqojq',
      'ıEZDGNBVGY3TQOJQ',
      ' ',
    ]) {
      assert.match(problemOf(text) as string, /^must be base32/, text);
    }
  });
});

describe('an otpauth address', () => {
  const address = (query: string, label = 'ACME:ann') => `otpauth://totp/${label}?${query}`;

  it('is accepted for its secret', () => {
    for (const text of [
      address(`secret=${RFC_SECRET}`),
      address(`secret=${RFC_SECRET.toLowerCase()}&issuer=ACME&algorithm=SHA1&digits=6&period=30`),
      address(`secret=${RFC_SECRET}&algorithm=sha1`, 'ann%40example.com'),
      totpAddress(RFC_KEY, { issuer: 'ACME: Inc. & Söhne', account: 'a?b=c&d@example.com' }),
    ]) {
      assert.deepEqual(readTotpKey(text), RFC_KEY, text);
    }
  });

  it('keeps its parameters, and those beside it must agree', () => {
    const key = { secret: RFC_SECRET, algorithm: 'SHA256', digits: 8, periodS: 60 };
    const text = address(`secret=${RFC_SECRET}&algorithm=SHA-256&digits=8&period=60`);
    assert.deepEqual(readTotpKey(text), key);
    assert.deepEqual(readTotpKey(text, { algorithm: 'HmacSHA256', digits: 8, period: '60' }), key);
    assert.deepEqual(readTotpKey(RFC_SECRET, { algorithm: 'sha256', digits: '8', period: 60 }), key);
    assert.deepEqual(readTotpKey(address(`secret=${RFC_SECRET}&digits=8`), { algorithm: 'SHA256', period: 60 }), key);
    for (const given of [{ algorithm: 'SHA1' }, { digits: 6 }, { period: 30 }]) {
      assert.match(JSON.stringify(readTotpKey(text, given)), /other parameters/);
    }
  });

  it('for parameters that no app has is refused, and the error names the right ones', () => {
    for (const [other, problem] of [
      ['algorithm=SHA224', 'must be for the algorithm SHA1, SHA256 or SHA512'],
      ['algorithm=MD5', 'must be for the algorithm SHA1, SHA256 or SHA512'],
      ['digits=7', 'must be for 6 or 8 digits'],
      ['digits=six', 'must be for 6 or 8 digits'],
      ['period=9', 'must be for a period of 10 to 300 seconds'],
      ['period=301', 'must be for a period of 10 to 300 seconds'],
      ['period=30.5', 'must be for a period of 10 to 300 seconds'],
    ]) {
      assert.equal(problemOf(address(`secret=${RFC_SECRET}&${other}`)), problem, other);
    }
  });

  it('that is broken, counter-based or too short is refused, and is not quoted', () => {
    for (const text of [
      'otpauth:',
      'otpauth://totp/',
      address('issuer=ACME'),
      address('secret='),
      address('secret=geheim!'),
      address(`secret=${RFC_SECRET}&secret=${RFC_SECRET}`),
      address(`secret=%ZZ`),
      `otpauth://hotp/ann?secret=${RFC_SECRET}&counter=1`,
      `otpauth://steam/ann?secret=${RFC_SECRET}`,
    ]) {
      assert.equal(problemOf(text), 'must be a valid otpauth://totp/ address', text);
    }
    assert.match(problemOf(address('secret=GEZDGNBV')) as string, /10 to 64 bytes/);
  });
});

describe('a new secret', () => {
  it('has 160 bits, and is different each time', () => {
    const secrets = Array.from({ length: 50 }, newTotpSecret);
    for (const secret of secrets) assert.match(secret, /^[A-Z2-7]{32}$/);
    assert.equal(new Set(secrets).size, 50);
  });

  it('has an address that names the account and the issuer', () => {
    const url = new URL(totpAddress(RFC_KEY, { issuer: 'ACME: Inc.', account: 'ann:x@acme.org' }));
    assert.equal(url.protocol + url.host, 'otpauth:totp');
    // One colon, between issuer and account.
    assert.equal(decodeURIComponent(url.pathname), '/ACME  Inc.:ann x@acme.org');
    assert.deepEqual(Object.fromEntries(url.searchParams), {
      issuer: 'ACME  Inc.',
      secret: RFC_SECRET,
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    });
  });
});
