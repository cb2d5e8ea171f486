import assert from 'node:assert/strict';
import { argon2Sync, createCipheriv, createHash, createHmac, pbkdf2Sync, scryptSync } from 'node:crypto';
import { describe, it } from 'node:test';
import bcrypt from 'bcryptjs';
import { hashProblem, verifyHash } from '../../../src/passwords/registry.ts';
import type { Person } from '../../../src/sources/entry.ts';
import type { Fields } from '../../../src/sources/source.ts';
import { kratos } from '../../../src/sources/systems/kratos.ts';

const PASSWORD = 'correct horse';
const SALT = Buffer.from('fbff3e3f00112233445566778899aabb', 'hex');
const convert = kratos.converter({});

function personOf(record: Fields): Person {
  const person = convert({ id: 'i1', schema_id: 'default', traits: {}, ...record });
  assert.ok(!('skip' in person));
  return person;
}

function converted(record: Fields): Record<string, unknown> {
  return JSON.parse(JSON.stringify(personOf(record)));
}

function notesOf(record: Fields): string[] {
  return (personOf(record).notes ?? []).map(({ id }) => id);
}

function withHash(hashed_password: string): Fields {
  return {
    credentials: { password: { type: 'password', identifiers: ['ann@example.com'], config: { hashed_password } } },
  };
}

function hashOf(text: string): string {
  return personOf(withHash(text)).hash ?? '';
}

const base64 = (bytes: Buffer | string) => Buffer.from(bytes).toString('base64');
const raw = (bytes: Buffer | string) => base64(bytes).replace(/=+$/, '');

function digest(algorithm: string, ...parts: (Buffer | string)[]): Buffer {
  return createHash(algorithm)
    .update(Buffer.concat(parts.map((part) => Buffer.from(part))))
    .digest();
}

function firescrypt(): string {
  const signerKey = Buffer.alloc(64, 9);
  const key = scryptSync(PASSWORD, Buffer.concat([SALT, Buffer.from([7])]), 32, { N: 2 ** 6, r: 4, p: 1 });
  const hash = createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(signerKey);
  return `$firescrypt$ln=6,r=4,p=1$${base64(SALT)}$${base64(hash)}$Bw==$${base64(signerKey)}`;
}

/** Each hash in the form that Kratos' own comparators read. */
const VERIFIED: [string, string, string][] = [
  ['bcrypt', bcrypt.hashSync(PASSWORD, 4), '$2b$04$'],
  ...(['argon2id', 'argon2i'] as const).map((name): [string, string, string] => {
    const cost = { memory: 64, passes: 2, parallelism: 1, tagLength: 32 };
    const hash = argon2Sync(name, { message: Buffer.from(PASSWORD), nonce: SALT, ...cost });
    return [name, `$${name}$v=19$m=64,t=2,p=1$${raw(SALT)}$${raw(hash)}`, `$${name}$v=19$m=64,t=2,p=1$`];
  }),
  ...(
    [
      ['sha1', 'pbkdf2'],
      ['sha256', 'pbkdf2-sha256'],
      ['sha512', 'pbkdf2-sha512'],
    ] as const
  ).map(([name, ours]): [string, string, string] => [
    `pbkdf2-${name}`,
    `$pbkdf2-${name}$i=100,l=32$${raw(SALT)}$${raw(pbkdf2Sync(PASSWORD, SALT, 100, 32, name))}`,
    `$${ours}$100$`,
  ]),
  [
    'scrypt, whose ln is N itself',
    `$scrypt$ln=1024,r=8,p=1$${base64(SALT)}$${base64(scryptSync(PASSWORD, SALT, 32, { N: 1024, r: 8, p: 1 }))}`,
    '$scrypt$ln=10,r=8,p=1$',
  ],
  ['firescrypt', firescrypt(), '$fbscrypt$v=1,n=6,r=4,p=1,ss=Bw==,sk='],
  ['md5 without salt', `$md5$${base64(digest('md5', PASSWORD))}`, '$salted-md5-prefix$$'],
  ...(['md5', 'sha1', 'sha256', 'sha512'] as const).flatMap((name): [string, string, string][] => [
    [
      `${name}, the salt first`,
      `$${name}$pf=${base64('{SALT}{PASSWORD}')}$${base64(SALT)}$${base64(digest(name, SALT, PASSWORD))}`,
      `$salted-${name}-prefix$${raw(SALT)}$`,
    ],
    [
      `${name}, the salt last, with text`,
      `$${name}$pf=${base64('{PASSWORD}-{SALT}!')}$${base64(SALT)}$${base64(digest(name, PASSWORD, '-', SALT, '!'))}`,
      `$salted-${name}-suffix$`,
    ],
  ]),
  ['{SSHA}', `{SSHA}${base64(Buffer.concat([digest('sha1', PASSWORD, SALT), SALT]))}`, '{SSHA}'],
  ['{SSHA512}', `{SSHA512}${base64(Buffer.concat([digest('sha512', PASSWORD, SALT), SALT]))}`, '{SSHA512}'],
  ...(['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'] as const).map((name): [string, string, string] => {
    const hex = createHmac(name, 'a key').update(PASSWORD).digest('hex');
    return [`hmac-${name}`, `$hmac-${name}$${base64(hex)}$${base64('a key')}`, `$hmac-${name}$YSBrZXk$`];
  }),
];

describe('Kratos: hashes', () => {
  for (const [name, text, beginning] of VERIFIED) {
    it(`verify: ${name}`, () => {
      const hash = hashOf(text);
      assert.equal(hash.slice(0, beginning.length), beginning);
      assert.equal(hashProblem(hash), undefined);
      assert.equal(verifyHash(hash, PASSWORD), true);
      assert.equal(verifyHash(hash, 'wrong'), false);
      assert.deepEqual(notesOf(withHash(text)), []);
    });
  }

  it('verify: PBKDF2 of 224 and 384 bits, which is SHA-3 in Kratos, by vectors of Python', () => {
    const [salt, parameters] = ['c2Vhc2FsdP/++w', 'i=100,l=28'];
    const sha224 = 'G9QE4xuVIXHOThVP5p7F3lsy+WJnNRgzB0rS4Q';
    assert.equal(verifyHash(hashOf(`$pbkdf2-sha224$${parameters}$${salt}$${sha224}`), 'Pässwörd ✓ 🔑'), true);
    assert.equal(hashOf(`$pbkdf2-sha384$i=7,l=48$${salt}$AAAA`), `$pbkdf2-sha3-384$7$${salt}$AAAA`);
  });

  it('verify: crypt(3) by its published vectors, under the names that Kratos uses', () => {
    const sha512 = '$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1';
    assert.equal(verifyHash(hashOf(`$sha512-crypt${sha512}`), 'Hello world!'), true);
    assert.equal(
      verifyHash(hashOf('$sha256-crypt$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5'), 'Hello world!'),
      true,
    );
    assert.equal(verifyHash(hashOf('$md5-crypt$kJ4QkJaQ$3EbD/pJddrq5HW3mpZ4KZ1'), 'password'), true);
  });

  const unknown: [string, string, string][] = [
    ['PBKDF2 of SHA-3 without rounds', '$pbkdf2-sha384$l=48$c2FsdA$AAAA', '$pbkdf2-sha3-384$'],
    ['PBKDF2 without rounds', '$pbkdf2-sha256$l=32$c2FsdA$AAAA', '$pbkdf2-sha256$'],
    ['scrypt whose N is not a power of two', '$scrypt$ln=1000,r=8,p=1$c2FsdA==$AAAA', '$scrypt$'],
    ['firescrypt without a signer key', '$firescrypt$ln=14,r=8,p=1$c2FsdA==$AAAA$Bw==', '$firescrypt$'],
    ['HMAC of MD4', `$hmac-md4$${base64('00'.repeat(16))}$AAAA`, '$hmac-md4$'],
    ['HMAC that is not hexadecimal', '$hmac-sha256$AAAA$AAAA', '$hmac-sha256$'],
    ['text on both sides of the password', `$sha256$pf=${base64('{SALT}{PASSWORD}x')}$c2FsdA==$AAAA`, '$sha256$'],
    ['the password twice', `$sha1$pf=${base64('{PASSWORD}{SALT}{PASSWORD}')}$c2FsdA==$AAAA`, '$sha1$'],
    ['a digest without format', '$sha512$c2FsdA==$AAAA', '$sha512$'],
  ];
  for (const [name, text, expected] of unknown) {
    it(`are rejected by name: ${name}`, () => {
      assert.equal(hashOf(text), expected);
      assert.notEqual(hashProblem(expected), undefined);
      assert.deepEqual(notesOf(withHash(text)), ['HASH-UNSUPPORTED']);
    });
  }
});

describe('Kratos: an identity', () => {
  const verifiable = (value: string, via: string, verified: boolean) => ({ value, via, verified, status: 'completed' });

  it('is converted with all its fields', () => {
    const person = converted({
      schema_id: 'customer',
      schema_url: 'https://example.com/schemas/x',
      state: 'inactive',
      traits: {
        email: 'Ann@example.com',
        phone: '+41791234567',
        name: { first: 'Ann', last: 'Arbor' },
        locale: 'de',
        gender: 'female',
        company: 'Acme',
      },
      verifiable_addresses: [
        verifiable('second@example.com', 'email', false),
        verifiable('ann@example.com', 'email', true),
        verifiable('+41791234567', 'sms', true),
      ],
      metadata_public: { plan: 'free' },
      metadata_admin: null,
      external_id: 'crm-1',
      organization_id: null,
      credentials: {
        totp: { type: 'totp', config: { totp_url: 'otpauth://totp/Acme:ann?secret=JBSWY3DPEHPK3PXPAAAA&issuer=Acme' } },
        oidc: {
          identifiers: ['google:42'],
          config: { providers: [{ subject: '42', provider: 'google', initial_access_token: 'secret' }] },
        },
        saml: { identifiers: ['okta:a:b'] },
        webauthn: {},
      },
    });
    assert.deepEqual(person, {
      userId: 'i1',
      email: 'ann@example.com',
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Arbor',
      language: 'de',
      gender: 'GENDER_FEMALE',
      phone: '+41791234567',
      phoneVerified: true,
      state: 'inactive',
      totp: 'JBSWY3DPEHPK3PXPAAAA',
      metadata: {
        traits: { email: 'Ann@example.com', gender: 'female', company: 'Acme' },
        metadata_public: { plan: 'free' },
        metadata_admin: null,
        schema_id: 'customer',
        external_id: 'crm-1',
      },
      links: [
        { provider: 'google', externalUserId: '42' },
        { provider: 'okta', externalUserId: 'a:b' },
      ],
      oldSignIn: { ways: ['provider', 'enterprise'] },
      notes: personOf({ credentials: { webauthn: {} } }).notes,
    });
    assert.deepEqual(notesOf({ credentials: { webauthn: {} } }), ['SECOND-FACTOR-LOST']);
  });

  it('has the address that Kratos verifies, else one from the traits, else one from the identifiers', () => {
    const traits = { email: 'trait@example.com' };
    const addresses = { verifiable_addresses: [verifiable('kept@example.com', 'email', false)] };
    const credentials = { password: { identifiers: ['name', 'id@example.com'], config: {} } };
    assert.deepEqual(of({ traits, ...addresses, credentials }), ['kept@example.com', false]);
    assert.deepEqual(of({ traits, credentials }), ['trait@example.com', undefined]);
    assert.deepEqual(of({ credentials }), ['id@example.com', undefined]);

    function of(record: Fields) {
      const { email, emailVerified } = personOf(record);
      return [email, emailVerified];
    }
  });

  it('logs in with the name that is not an address, which would otherwise be lost', () => {
    const of = (traits: Fields, identifiers: string[]) =>
      personOf({
        traits: { email: 'a@example.com', ...traits },
        credentials: { password: { identifiers, config: {} } },
      });
    assert.equal(of({ username: 'Ann' }, ['ann', 'a@example.com']).userName, 'Ann');
    assert.equal(of({}, ['ann']).userName, 'ann');
    assert.equal(of({ username: 'Ann' }, ['a@example.com', '+41791234567']).userName, undefined);
    assert.equal(of({}, ['other@example.com']).userName, 'other@example.com');
    assert.equal(personOf({ traits: { username: 'ann' } }).userName, 'ann');
    const both = {
      traits: { username: 'ann', email: 'a@example.com' },
      credentials: { password: { identifiers: ['ann', 'a@example.com'], config: {} } },
    };
    assert.deepEqual(notesOf(both), ['LOGIN-BY-NAME-ONLY']);
    assert.deepEqual(of({ username: 'Ann' }, ['a@example.com']).metadata?.traits, { username: 'Ann' });
  });

  it('has its names in any form of the schema, and loses none', () => {
    const names = (traits: Fields) => {
      const { firstName, lastName, displayName, metadata } = personOf({ traits });
      return [firstName, lastName, displayName, metadata?.traits];
    };
    assert.deepEqual(names({ name: 'Ann Arbor' }), [undefined, undefined, 'Ann Arbor', undefined]);
    assert.deepEqual(names({ name: { first_name: 'Ann', last_name: 'Arbor' } }), [
      'Ann',
      'Arbor',
      undefined,
      undefined,
    ]);
    assert.deepEqual(names({ given_name: 'Ann', family_name: 'Arbor' }), ['Ann', 'Arbor', undefined, undefined]);
    const titled = { name: { first: 'Ann', last: 'Arbor', title: 'Dr.' } };
    assert.deepEqual(names(titled), ['Ann', 'Arbor', undefined, titled]);
    assert.deepEqual(names({ first_name: 'Ann', firstName: 'Anna' }), [
      'Ann',
      undefined,
      undefined,
      { firstName: 'Anna' },
    ]);
  });

  it('has no password if there is none, and a note if it was not exported', () => {
    const password = (more: Fields) => ({
      credentials: { password: { type: 'password', identifiers: ['a'], ...more } },
    });
    assert.deepEqual(notesOf(password({})), ['PASSWORD-NOT-EXPORTED']);
    assert.deepEqual(notesOf(password({ config: {} })), []);
    assert.deepEqual(notesOf(password({ config: { use_password_migration_hook: true } })), ['PASSWORD-ELSEWHERE']);
    assert.equal(personOf(password({ config: { password: ' plain ' } })).password, ' plain ');
    assert.deepEqual(notesOf({}), []);
  });

  it('has a second factor only if the export contains a supported one', () => {
    const totp = (totp_url?: string) => ({
      credentials: { totp: totp_url === undefined ? {} : { config: { totp_url } } },
    });
    assert.deepEqual(notesOf(totp()), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(notesOf(totp('otpauth://totp/a?secret=JBSWY3DPEHPK3PXPAAAA&digits=7')), ['SECOND-FACTOR-LOST']);
    const address = 'otpauth://totp/a?secret=JBSWY3DPEHPK3PXPAAAA&digits=8&period=60&algorithm=SHA256';
    assert.deepEqual(personOf(totp(address)).totps, [
      { secret: 'JBSWY3DPEHPK3PXPAAAA', algorithm: 'SHA256', digits: 8, period: 60 },
    ]);
    assert.deepEqual(notesOf(totp('otpauth://totp/a?secret=JBSWY3DPEHPK3PXPAAAA')), []);
  });

  it('never makes the converter throw', () => {
    const junk = [null, 5, 'x', [], {}, [null, 5, 'x', [], {}]];
    for (const key of ['traits', 'credentials', 'verifiable_addresses', 'metadata_public']) {
      for (const value of junk) assert.doesNotThrow(() => personOf({ [key]: value }));
    }
    for (const kind of ['password', 'totp', 'oidc']) {
      for (const config of junk)
        assert.doesNotThrow(() => personOf({ credentials: { [kind]: { identifiers: config, config } } }));
    }
    for (const text of ['$', '$$', '$md5$', '$scrypt$', '$hmac-$', '$pbkdf2-$', '$sha1$pf=$$', '$firescrypt$'])
      hashOf(text);
  });

  it('is distinguished from other systems by its schema', () => {
    assert.equal(kratos.recognizes({ id: '1', schema_id: 'default', traits: {} }, 'json'), 1);
    assert.equal(kratos.recognizes({ id: '1', traits: 'x' }, 'json'), 0);
  });
});

describe('Kratos: how users signed in', () => {
  const of = (credentials: Fields) => personOf({ credentials }).oldSignIn?.ways;

  it('reads the addresses of a code', () => {
    const addresses = (...channels: string[]) => ({
      addresses: channels.map((channel) => ({ channel, address: 'x' })),
    });
    assert.deepEqual(of({ code: { config: addresses('email') } }), ['mailCode']);
    assert.deepEqual(of({ code: { config: addresses('sms') } }), ['sms']);
    assert.deepEqual(of({ code: { identifiers: ['ann@example.com', '+41791234567'] } }), ['mailCode', 'sms']);
    assert.deepEqual(of({ code: {} }), ['mailCode']);
    assert.equal(of({}), undefined);
  });

  it('tells social providers from those of companies', () => {
    const providers = [{ provider: 'google', subject: '1' }];
    const acme = [{ provider: 'acme', subject: '1', organization: 'a7' }];
    assert.deepEqual(of({ oidc: { config: { providers } } }), ['provider']);
    assert.deepEqual(of({ oidc: { config: { providers: acme } } }), ['enterprise']);
    assert.deepEqual(of({ saml: { identifiers: ['acme:1'] } }), ['enterprise']);
  });

  it('notes each kind of credential that is dropped', () => {
    const key = (is_passwordless: boolean) => ({
      webauthn: { config: { credentials: [{ id: 'k', is_passwordless }] } },
    });
    assert.deepEqual(notesOf({ credentials: key(true) }), ['PASSKEY-LOST']);
    assert.deepEqual(notesOf({ credentials: key(false) }), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(notesOf({ credentials: { passkey: {} } }), ['PASSKEY-LOST']);
    assert.deepEqual(notesOf({ credentials: { lookup_secret: {} } }), ['RECOVERY-CODES-LOST']);
    assert.deepEqual(notesOf({ credentials: { of_a_plugin: {} } }), ['CREDENTIAL-DROPPED']);
    assert.deepEqual(notesOf({ credentials: { code: {} } }), []);
  });

  it('warns of a user name beside an address only while the address is not verified', () => {
    const both = {
      traits: { username: 'ann', email: 'a@example.com' },
      credentials: { password: { identifiers: ['ann', 'a@example.com'], config: {} } },
    };
    const verified = { ...both, verifiable_addresses: [{ value: 'a@example.com', via: 'email', verified: true }] };
    assert.deepEqual(notesOf(both), ['LOGIN-BY-NAME-ONLY']);
    assert.deepEqual(notesOf(verified), []);
  });
});
