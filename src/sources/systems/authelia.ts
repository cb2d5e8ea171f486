/**
 * Authelia: users of its file `users_database.yml`, to which the exports of `authelia storage user totp export` and
 * `… webauthn export` are joined. The key of a user is the name.
 * https://www.authelia.com/configuration/first-factor/file/, https://www.authelia.com/reference/guides/passwords/
 * https://www.authelia.com/reference/cli/authelia/authelia_storage_user_totp_export/, …_webauthn_export/
 * https://github.com/authelia/authelia (internal/authentication/file_user_provider_database.go, internal/model)
 *
 * A user of a directory (LDAP) is in no file of Authelia: import the directory.
 */
import type { Person } from '../entry.ts';
import { bytesIn, openFactors } from '../factors.ts';
import { hasField, signedInBy } from '../old-sign-in.ts';
import { EACH_KEY, type Fields } from '../source.ts';
import { boolAt, genderOf, KEY, listAt, numberAt, present, textAt } from '../values.ts';
import { JSON_ONLY, tableSource } from './table.ts';

export const authelia = tableSource({
  name: 'authelia',
  title: 'Authelia',
  formats: JSON_ONLY,
  jsonPaths: [
    ['users', EACH_KEY],
    ['users', '*'],
  ],
  recognizes: (record) => {
    const has = (name: string) => Object.hasOwn(record, name);
    return nameOf(record) !== undefined && has('displayname') && has('password') ? 0.9 : 0;
  },
  states: { inactive: ['disabled'] },
  columns: {
    userName: nameOf,
    email: 'email',
    firstName: 'given_name',
    lastName: 'family_name',
    displayName: 'displayname',
    nickName: 'nickname',
    language: 'locale',
    gender: (record) => genderOf(textAt(record, 'gender')),
    phone: 'phone_number',
    hash: 'password',
  },
  missing: [
    {
      id: 'AUTHELIA-APPS',
      what: 'secondFactor',
      message: 'The file of users contains no authenticator apps.',
      remedy:
        'Join the export of `authelia storage user totp export` as totp_configurations (docs/sources/authelia.md).',
      isIn: hasField('totp_configurations'),
    },
    {
      id: 'AUTHELIA-PASSKEYS',
      what: 'passkey',
      message: 'The file of users contains no passkeys and security keys.',
      remedy:
        'Join the export of `authelia storage user webauthn export` as webauthn_credentials (docs/sources/authelia.md).',
      isIn: hasField('webauthn_credentials'),
    },
  ],
  parts: [factorsOf],
  dropped: `${KEY} username totp_configurations webauthn_credentials gender disabled`,
  metadata: (_record, rest) => present(rest),
});

function nameOf(record: Fields): string | undefined {
  return textAt(record, KEY) ?? textAt(record, 'username');
}

/** Secrets are base64 of the base32 text; keys are base64. A discoverable key is a passkey, all others follow the password. */
function factorsOf(record: Fields): Partial<Person> {
  const factors = openFactors();
  for (const app of listAt(record, 'totp_configurations')) {
    factors.app({
      secret: bytesIn(app.secret)?.toString('latin1'),
      algorithm: textAt(app, 'algorithm'),
      digits: numberAt(app, 'digits'),
      period: numberAt(app, 'period'),
    });
  }
  const keys = listAt(record, 'webauthn_credentials');
  for (const key of keys) {
    factors.passkey({
      credentialId: key.kid,
      publicKey: key.public_key,
      signCount: numberAt(key, 'sign_count'),
      rpId: textAt(key, 'rpid'),
      transports: key.transports,
      name: textAt(key, 'description'),
      backedUp: boolAt(key, 'backup_state'),
      secondFactorOnly: !isPasskey(key),
    });
  }
  return {
    ...factors.fields({}),
    oldSignIn: signedInBy({ password: textAt(record, 'password') !== undefined, passkey: keys.some(isPasskey) }),
  };
}

function isPasskey(key: Fields): boolean {
  return boolAt(key, 'discoverable') === true;
}
