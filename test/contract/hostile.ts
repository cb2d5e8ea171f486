/** Invalid values. */
import fc from '../support/fast-check.ts';
import type { Json } from './judge.ts';

/** Texts that are known to break services. */
export const HOSTILE_TEXTS = [
  '',
  ' ',
  '.',
  '..',
  '../../etc/passwd',
  '\0',
  'a\0b',
  '\ud800',
  '\uffff',
  '\u202eabc',
  '\u{1f469}\u200d\u{1f469}',
  'İ',
  "'; drop table users; --",
  '%',
  '_',
  '\\',
  '"',
  '$1',
  '{{.Code}}',
  '<script>alert(1)</script>',
  '\r\nX-Injected: 1',
  '__proto__',
  'constructor',
  'null',
  '-1',
  '1e400',
  '99999999999999999999999999',
  '9999-12-31T23:59:59.999999999Z',
  '+999999-01-01T00:00:00Z',
  '2099-02-30T00:00:00Z',
  'x'.repeat(201),
  'x'.repeat(70_000),
  '\u{1f600}'.repeat(200),
  'USER_STATE_ACTIVE',
  '$2b$31$R.YLNKkiLoMNjYefcfi0cuDW0XunlD/4OjY7fOFO5M9lLs5MerRaC',
  '$argon2id$v=19$m=4294967296,t=99,p=99$AAAA$AAAA',
];

/** One of these texts, or any text. */
export const hostileText = fc.oneof(
  { arbitrary: fc.constantFrom(...HOSTILE_TEXTS).map((s) => s.slice(0, 2000)), weight: 2 },
  { arbitrary: fc.string({ unit: 'binary', maxLength: 30 }), weight: 1 },
);

const nested = (depth: number, open: Json, wrap: (inner: Json) => Json): Json =>
  Array.from({ length: depth }).reduce<Json>((inner) => wrap(inner), open);

const HOSTILE: fc.Arbitrary<Json> = fc.oneof(
  { arbitrary: fc.constantFrom(...HOSTILE_TEXTS), weight: 5 },
  { arbitrary: fc.constantFrom<Json>(null, true, false, 0, -1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e300), weight: 4 },
  { arbitrary: fc.constantFrom<Json>([], {}, [[]], [null], { '': '' }, [{}]), weight: 3 },
  { arbitrary: fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }), weight: 3 },
  { arbitrary: fc.constantFrom(65, 300).map((n) => nested(n, 1, (a) => [a])), weight: 1 },
  { arbitrary: fc.constantFrom(65, 300).map((n) => nested(n, 1, (a) => ({ a }))), weight: 1 },
  { arbitrary: fc.constant(Array.from({ length: 20_000 }, () => 'x')), weight: 1 },
);

const CHANGE = fc.record({ at: fc.nat(), how: fc.constantFrom('replace', 'remove', 'add', 'snake'), value: HOSTILE });

/** The value with one to three changes anywhere inside. */
export function broken(value: fc.Arbitrary<Json>): fc.Arbitrary<Json> {
  const changes = fc.array(CHANGE, { minLength: 1, maxLength: 3 });
  return fc
    .tuple(value, changes)
    .map(([given, list]) => list.reduce((root, one) => change(root, structuredClone(one)), structuredClone(given)));
}

function change(root: Json, { at, how, value }: { at: number; how: string; value: Json }): Json {
  const holders = holdersIn(root);
  if (holders.length === 0) return value;
  const [holder, key] = holders[at % holders.length] as [Json, string];
  if (how === 'remove') delete holder[key];
  else if (how === 'add' && !Array.isArray(holder)) define(holder, HOSTILE_TEXTS[at % 20] ?? '', value);
  else if (how === 'snake' && !Array.isArray(holder)) {
    define(
      holder,
      key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`),
      holder[key],
    );
  } else holder[key] = value;
  return root;
}

/** Defines an own property, even one named `__proto__`. */
function define(holder: Json, key: string, value: Json): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Every place in a value, as its parent and key. */
function holdersIn(value: Json): [holder: Json, key: string][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.keys(value)
    .slice(0, 50)
    .flatMap((key) => [[value, key] as [Json, string], ...holdersIn(value[key])]);
}

/** One value of each type, and values that checks often miss. */
const KINDS: Json[] = [null, true, -1, '', '\0', [null], {}];

/** The value with one part replaced by a value of another type, for every part and every type. */
export function* wrongKinds(value: Json): Generator<Json> {
  const places = holdersIn(value).length;
  for (let at = 0; at < places; at++) {
    for (const kind of KINDS) {
      yield change(structuredClone(value), { at, how: 'replace', value: structuredClone(kind) });
    }
  }
}
