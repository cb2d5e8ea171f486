/**
 * SuperTokens' password hashes: standard bcrypt and argon2, and Firebase's scrypt as
 * `$f_scrypt$hash$salt$m=14$r=8$s=separator`, whose signer key is in the Core's configuration, not in the hash.
 * https://supertokens.com/docs/migration/legacy/account-creation/user-creation
 */
import { decodeBase64 } from '../../../passwords/base64.ts';
import { type HashText, unsupported } from '../../hash-text.ts';
import type { Note } from '../../person.ts';
import { UsageError } from '../../source.ts';

const PREFIX = '$f_scrypt$';
const SCHEME = 'firebase-scrypt';
const COUNT = /^[1-9][0-9]{0,5}$/;
/** In JSON, or in the hash config of Firebase's console. */
const NAMED_KEY = /signer_?key"?\s*[:=]\s*"?([A-Za-z0-9+/]+=*)/i;

const NO_KEY: Note = {
  id: 'HASH-CONFIG-MISSING',
  message: "The hash is Firebase's and cannot be verified without its signer key: pass it with --hash-config.",
};

export const SIGNER_KEY_HELP =
  'Users that came from Firebase need the signer key (firebase_password_hashing_signer_key of the Core): a file with ' +
  'the key in base64, alone or as {"signerKey":"…"}.';

/** @throws UsageError when the text holds no key */
export function signerKeyOf(hashConfig: string | undefined): string | undefined {
  if (hashConfig === undefined) return undefined;
  const key = NAMED_KEY.exec(hashConfig)?.[1] ?? hashConfig.trim();
  if (key !== '' && decodeBase64(key) !== undefined) return key;
  throw new UsageError(`The --hash-config file has no signer key. ${SIGNER_KEY_HELP}`);
}

export function hashOf(text: string | undefined, signerKey: string | undefined): HashText {
  if (text === undefined) return {};
  return text.startsWith(PREFIX) ? firebase(text.slice(PREFIX.length), signerKey) : { hash: text };
}

function firebase(body: string, signerKey: string | undefined): HashText {
  const [digest = '', salt = '', ...settings] = body.split('$');
  const setting = (name: string) => settings.find((text) => text.startsWith(name))?.slice(name.length) ?? '';
  const [cost, rounds, separator] = [setting('m='), setting('r='), setting('s=')];
  const isWhole = settings.length === 3 && COUNT.test(cost) && COUNT.test(rounds);
  const areBytes = [digest, salt, separator].every((part) => part !== '' && decodeBase64(part) !== undefined);
  if (!isWhole || !areBytes) return unsupported(SCHEME);
  if (signerKey === undefined) return { ...unsupported(SCHEME), notes: [NO_KEY] };
  return { hash: `$fbscrypt$v=1,n=${cost},r=${rounds},p=1,ss=${separator},sk=${signerKey}$${salt}$${digest}` };
}
