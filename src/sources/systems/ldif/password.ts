/**
 * The password of a directory entry. `userPassword` may hold several values: each is a hash, a plain password, or a
 * mark that another system checks the password.
 *
 * RFC 4519 section 2.41, RFC 2307 section 5.3; 389 Directory Server's `{PBKDF2_SHA256}`: pbkdf2_pwd.c of
 * https://github.com/389ds/389-ds-base.
 */
import { schemeOf } from '../../../passwords/registry.ts';
import { namedHash } from '../../hash-like.ts';
import { bytesOf, type HashText, pbkdf2Text, unsupported } from '../../hash-text.ts';
import type { Note } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { valuesOf } from './values.ts';

const PASSWORD_ELSEWHERE: Note = {
  id: 'PASSWORD-ELSEWHERE',
  message: 'Another system (SASL, Kerberos) checks this password, or the directory has locked it; it is not imported.',
};
const SECOND_PASSWORD: Note = {
  id: 'SECOND-PASSWORD-DROPPED',
  message: 'The entry has several passwords; only one is imported.',
};

/** A hash, or a plain password. */
export interface LdifPassword extends HashText {
  password?: string;
  /** The hash has a prefix that locks the account. */
  isLocked?: boolean;
}

const SCHEME = /^\{([A-Za-z0-9._/-]+)\}(.*)$/s;
const CLEAR = ['CLEAR', 'CLEARTEXT', 'PLAIN'];
const ELSEWHERE = ['SASL', 'KERBEROS', 'RADIUS', 'UNIX', 'NONE'];
/** What passwd(1) puts before a hash, or in its place, to lock it; `*LK*` and `*NP*` are Solaris' marks. */
const LOCK = /^(?:\*LK\*|\*NP\*|[!*])+/;

export function passwordOf(entry: Fields): LdifPassword {
  const all = valuesOf(entry, 'userpassword')
    .filter((value) => value !== '')
    .map((value) => passwordOfValue(unfold(value)));
  const usable = all.filter(({ hash, password }) => password !== undefined || schemeOf(hash ?? '') !== undefined);
  const [best = all[0] ?? {}] = [...usable.filter(({ hash }) => hash !== undefined), ...usable];
  return usable.length > 1 ? { ...best, notes: [...(best.notes ?? []), SECOND_PASSWORD] } : best;
}

/** Some tools write the value in base64, but omit the second colon that marks it as such. */
function unfold(value: string): string {
  if (!/^e[0-3][A-Za-z0-9+/]+={0,2}$/.test(value)) return value;
  const text = bytesOf(value, 'base64')?.toString('latin1') ?? value;
  return SCHEME.test(text) ? text : value;
}

function passwordOfValue(value: string): LdifPassword {
  const [, scheme, body = ''] = SCHEME.exec(value) ?? [];
  if (scheme === undefined) return isHash(value) ? { hash: value } : { password: value };
  const name = scheme.toUpperCase();
  if (CLEAR.includes(name)) return body === '' ? {} : { password: body };
  if (ELSEWHERE.includes(name)) return { notes: [PASSWORD_ELSEWHERE] };
  if (name === 'CRYPT') return crypt(body);
  if (name === 'PBKDF2_SHA256') return pbkdf2Of389(body);
  return schemeOf(value) === undefined ? unsupported(name) : { hash: value };
}

/** Without a scheme, the value is a plain password to the directory. Only what can hardly be one counts as a hash. */
function isHash(value: string): boolean {
  return schemeOf(value) !== undefined && (namedHash(value) !== undefined || /^[0-9a-f]{32,}$/i.test(value));
}

function crypt(body: string): LdifPassword {
  const hash = body.replace(LOCK, '');
  // `x` refers to another file.
  if (hash === '' || hash === 'x') return { notes: [PASSWORD_ELSEWHERE] };
  return { hash: `{CRYPT}${hash}`, ...(hash === body ? {} : { isLocked: true }) };
}

/** Four bytes of rounds, 64 of salt, 256 of hash. */
const ROUNDS_BYTES = 4;
const SALT_BYTES = 64;
const HASH_BYTES = 256;
/** Each block of PBKDF2's output depends on the whole password, so the first one verifies as much as all eight. */
const BLOCK_BYTES = 32;

function pbkdf2Of389(body: string): HashText {
  const bytes = bytesOf(body, 'base64');
  if (bytes?.length !== ROUNDS_BYTES + SALT_BYTES + HASH_BYTES) return unsupported('PBKDF2_SHA256-389');
  const salt = bytes.subarray(ROUNDS_BYTES, ROUNDS_BYTES + SALT_BYTES);
  const block = bytes.subarray(ROUNDS_BYTES + SALT_BYTES).subarray(0, BLOCK_BYTES);
  return { hash: pbkdf2Text('sha256', bytes.readUInt32BE(0), salt, block) };
}
