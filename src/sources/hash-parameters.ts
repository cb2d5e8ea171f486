/**
 * Which fields beside a hash say how it was made: a salt, a number of rounds, an algorithm, where the salt was put. A
 * digest beside one of them is hardly a digest of the password alone.
 */
import type { Fields } from './source.ts';
import { CONTEXT, fieldNames, isFields, plainName } from './values.ts';

/** Names of the fields, in the order of the record. */
export interface ParameterFields {
  salt: readonly string[];
  rounds: readonly string[];
  algorithm: readonly string[];
  position: readonly string[];
}

const ROUNDS = fieldNames(`iterations iteration iterationcount hashiterations hashiterationcount passworditerations
  pbkdf2iterations rounds hashrounds passwordrounds saltrounds stretches passwordstretches nbiterations numiterations
  passwordcost hashcost keystretching`);
const ALGORITHM = fieldNames(`algorithm algo alg hashalgorithm hashalgo hashtype hashmethod hashingmethod hashscheme
  hashingalgorithm hashfunction hasher passwordalgorithm passwordalgo passwordhashalgorithm passwordhashalgo
  passwdhashalgo passwordhashtype passwordhashmethod passwordtype passwordscheme passwordformat passwordmethod
  passwordencryption passwordencoder encryption encryptionmethod encryptiontype encryptionalgorithm encoder kdf
  digestalgorithm digestmethod userpassdriver passdriver cipher`);
const POSITION = fieldNames('saltposition saltorder saltplacement saltlocation saltmode');
/** `password_salt`, `members_pass_salt`, `ec_salt`, `saltHex`; also in German. */
const SALT = /(?:^|[^a])(?:salt|salz)(?:value|text|string|hex|b64|base64|bytes)?$|^salt(?:for|of)/;
/** `basalt` is a stone, and what says where the salt is, or how long, is none. */
const NO_SALT = /basalt$|unsalt|(?:has|use|with|is)salt$/;

/** Other names of a salt, beside an algorithm. */
const NONCE = /^(?:password|hash)?nonce$/;

const SHAPES = new Map<string, ParameterFields>();
const MOST_SHAPES = 1000;

/** The fields of a record or of an object in it, by their names. */
export function parametersIn(fields: Fields): ParameterFields {
  const names = Object.keys(fields);
  const shape = names.join('\n');
  const known = SHAPES.get(shape);
  if (known) return known;
  const plain = names.filter((name) => name !== CONTEXT).map((name): [string, string] => [name, plainName(name)]);
  const named = (is: (name: string) => boolean) => plain.filter(([, one]) => is(one)).map(([name]) => name);
  const algorithm = named((one) => ALGORITHM.has(one));
  const salt = named((one) => SALT.test(one) && !NO_SALT.test(one));
  const found: ParameterFields = {
    salt: salt.length > 0 || algorithm.length === 0 ? salt : named((one) => NONCE.test(one)),
    rounds: named((one) => ROUNDS.has(one)),
    algorithm,
    position: named((one) => POSITION.has(one)),
  };
  if (SHAPES.size >= MOST_SHAPES) SHAPES.clear();
  if (shape.length <= 10_000) SHAPES.set(shape, found);
  return found;
}

/**
 * The object that holds a hash, and the whole record, the nearest first: both may hold its parameters. Undefined if the
 * record does not contain the hash as it is.
 */
export function aroundHash(record: Fields, hash: string): Fields[] | undefined {
  const inside = holderOf(record, hash, 0);
  if (inside === undefined) return undefined;
  return inside === record ? [record] : [inside, record];
}

/** Parameters are hardly nested deeper. */
const DEEPEST = 5;

function holderOf(value: unknown, hash: string, depth: number): Fields | undefined {
  if (depth > DEEPEST || typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return firstOf(value, hash, depth);
  if (!isFields(value)) return undefined;
  const values = Object.values(value);
  const isHere = values.some((one) => typeof one === 'string' && one.trim() === hash);
  return isHere ? value : firstOf(values, hash, depth);
}

function firstOf(values: readonly unknown[], hash: string, depth: number): Fields | undefined {
  for (const value of values) {
    const found = holderOf(value, hash, depth + 1);
    if (found) return found;
  }
  return undefined;
}

export interface Parameter {
  field: string;
  /** Absent: there is a value that cannot be read. */
  bytes?: Buffer;
}

/** The first of these fields with a value. */
export function valued(around: readonly Fields[], kind: keyof ParameterFields): Parameter | undefined {
  for (const fields of around) {
    for (const field of parametersIn(fields)[kind]) {
      const found = parameter(field, fields[field]);
      if (found) return found;
    }
  }
  return undefined;
}

/** Undefined for no value. A salt may begin or end with a blank, and be bytes of Node.js or MongoDB. */
export function parameter(field: string, value: unknown): Parameter | undefined {
  if (typeof value === 'string' || typeof value === 'number') {
    return String(value).trim() === '' ? undefined : { field, bytes: Buffer.from(String(value)) };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const bytes = isFields(value) ? bytesIn(value) : undefined;
  return bytes ? { field, bytes } : { field };
}

function bytesIn({ type, data, $binary }: Fields): Buffer | undefined {
  if (type === 'Buffer' && Array.isArray(data)) return Buffer.from(data);
  const text = isFields($binary) ? $binary.base64 : $binary;
  return typeof text === 'string' ? Buffer.from(text, 'base64') : undefined;
}
