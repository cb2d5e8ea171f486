/**
 * Converts the password hash of a Keycloak credential to Modular Crypt Format.
 *
 * Keycloak writes salt and hash as padded base64, and derives as many bytes as the hash has. The number of rounds and
 * the parameters of argon2 are in separate fields. Extensions such as those for bcrypt put a complete Modular Crypt
 * text in place of the hash.
 * https://www.keycloak.org/docs/latest/server_admin/index.html#hashalgorithm
 */
import { bytesOf, type HashText, pbkdf2Text, unsupported } from '../../hash-text.ts';
import type { Fields } from '../../source.ts';
import { jsonAt, numberAt, objectAt, textAt } from '../../values.ts';

interface Secret {
  value: string;
  salt: string;
  algorithm: string;
  iterations: number;
  parameters: Fields;
}

const PBKDF2: Readonly<Record<string, string>> = {
  pbkdf2: 'sha1',
  'pbkdf2-sha256': 'sha256',
  'pbkdf2-sha512': 'sha512',
};
const ARGON2_VERSIONS: Readonly<Record<string, string>> = { '1.3': '19', '1.0': '16' };

/** Empty when the credential holds no hash. */
export function hashOf(credential: Fields): HashText {
  const secret = secretOf(credential);
  if (secret === undefined) return {};
  const { value, algorithm } = secret;
  if (value.startsWith('$')) return { hash: value };
  // One extension omits the leading `$`.
  if (/^argon2(id?|d)\$/.test(value)) return { hash: `$${value}` };
  if (algorithm === 'argon2') return argon2(secret);
  return Object.hasOwn(PBKDF2, algorithm) ? pbkdf2(secret) : unsupported(algorithm);
}

function secretOf(credential: Fields): Secret | undefined {
  const isOld = textAt(credential, 'hashedSaltedValue') !== undefined;
  const data = isOld ? credential : jsonAt(credential, 'credentialData');
  const secret = isOld ? credential : jsonAt(credential, 'secretData');
  const value = textAt(secret, isOld ? 'hashedSaltedValue' : 'value');
  if (value === undefined) return undefined;
  return {
    value,
    salt: textAt(secret, 'salt') ?? '',
    // Before Keycloak named its algorithms, there was only this one.
    algorithm: textAt(data, 'algorithm') ?? (isOld ? 'pbkdf2' : 'no-algorithm'),
    iterations: numberAt(data, 'hashIterations') ?? 0,
    parameters: objectAt(data, 'additionalParameters'),
  };
}

/** Without rounds, or with -1, Keycloak itself cannot verify the hash, and its defaults have changed over the years. */
function pbkdf2({ value, salt, algorithm, iterations }: Secret): HashText {
  if (iterations < 1) return unsupported('pbkdf2-no-rounds');
  const [saltBytes, digest] = [bytesOf(salt, 'base64'), bytesOf(value, 'base64')];
  if (saltBytes === undefined || digest === undefined) return unsupported('pbkdf2-no-base64');
  return { hash: pbkdf2Text(PBKDF2[algorithm] as string, iterations, saltBytes, digest) };
}

/** Version 1.0 is passed on unchanged, so that the service rejects it by name. */
function argon2({ value, salt, iterations, parameters }: Secret): HashText {
  const version = ARGON2_VERSIONS[parameter(parameters, 'version')];
  const [type, memory, lanes] = ['type', 'memory', 'parallelism'].map((name) => parameter(parameters, name));
  if (version === undefined || !type || !memory || !lanes || iterations < 1) return unsupported('argon2-no-cost');
  return {
    hash: `$argon2${type}$v=${version}$m=${memory},t=${iterations},p=${lanes}$${unpadded(salt)}$${unpadded(value)}`,
  };
}

/** A parameter is a list of one text or, in realms written by hand, the text itself. */
function parameter(parameters: Fields, name: string): string {
  const value = parameters[name];
  return textAt({ value: Array.isArray(value) ? value[0] : value }, 'value') ?? '';
}

/** Base64 without padding, as in the PHC string format. */
function unpadded(base64: string): string {
  return base64.replace(/=+$/, '');
}
