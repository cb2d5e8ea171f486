/** The texts of the console in both languages: each has all of them, and none is left in English. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { nameOfCause } from '../../src/console/shapes.ts';
import { problemText } from '../../src/console/texts/problems.ts';
import { emailAddress, language, requiredText } from '../../src/platform/fields.ts';
import { inLanguage } from '../../src/platform/messages/catalogue.ts';

const FOLDER = new URL('../../src/console/texts/', import.meta.url);
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.ts') && name !== 'language.ts');

/** Names, and words that German has too. */
const SAME = new Set([
  ...[
    'Muster',
    'ann@example.com',
    'Logo',
    'Live',
    'System',
    'Name',
    'Domain',
    'Domains',
    'Passkey',
    'Passkeys',
    'Client',
    'Clients',
    'Import',
  ],
  ...['Status', 'Filter', 'Format', 'Pepper', 'Text', 'OK', 'Problem', 'Person', 'Claim', 'Claims', 'Issuer', 'Token'],
  ...['Redis', 'PostgreSQL', 'Dispatcher', 'Version', 'Worker', 'Scopes', 'Webhook', 'Unicode (UTF-8)'],
  ...['Thai (Windows-874)', 'Google', 'Microsoft', 'Apple', 'GitHub', 'GitLab', 'Facebook', 'LinkedIn', 'Auth0'],
  ...[
    'Keycloak',
    'ZITADEL',
    'OpenID Connect',
    'OAuth 2.0',
    'index.html',
    'server.mjs',
    'token.sh',
    'Keycloak: realm_access, resource_access, groups',
  ],
  ...['Supabase: app_metadata, user_metadata, role'],
]);
/** Not read by people: the look of a state, and what is typed into a terminal. */
const FOR_PROGRAMS = /^(?:|good|bad|warn|still|done|muster [a-z].*)$/;

/** Values for texts that are made of them: one and several, numbers and words. */
const VALUES: readonly unknown[][] = [
  ...[
    [1, '1', '1', '1'],
    [3, '3', '3', '3'],
    ['3', '3', '3', '3'],
    ['3', 'verify'],
    ['3', true],
  ],
  ...[
    [3, 3, { sent: 3, unsent: 3 }],
    [3, 0, { sent: 1, unsent: 1 }],
    [{ corrected: 3, refused: 3, invalid: 3 }, 3],
  ],
];

type Made = (...values: unknown[]) => unknown;

/** What a text says of the values; nothing where they are of another kind than its own. */
function said(text: Made, values: readonly unknown[]): unknown {
  try {
    return text(...values);
  } catch (error) {
    assert(error instanceof TypeError);
    return '';
  }
}

/** Compares two texts, and all that they consist of. */
function compare(path: string, english: unknown, german: unknown, found: string[]): void {
  if (typeof english === 'function') {
    assert.equal(typeof german, 'function', path);
    for (const values of VALUES) {
      compare(`${path}()`, said(english as Made, values), said(german as Made, values), found);
    }
  } else if (english !== null && typeof english === 'object') {
    assert.deepEqual(Object.keys(german as object).sort(), Object.keys(english).sort(), path);
    for (const [name, text] of Object.entries(english))
      compare(`${path}.${name}`, text, (german as Record<string, unknown>)[name], found);
  } else if (typeof english === 'string') {
    const isWords = /[a-z]{2}/i.test(english.replaceAll(/undefined|verify|true|Import|\[object Object\]/g, ''));
    if (english === german && isWords && !SAME.has(english) && !FOR_PROGRAMS.test(english)) {
      found.push(`${path}: ${english}`);
    }
  }
}

/** A copy in one language of what is read in the language of the request. */
function copyOf(texts: object, language: string): Record<string, unknown> {
  return inLanguage({ browser: language }, () => ({ ...texts }) as Record<string, unknown>);
}

for (const file of FILES) {
  test(`${file} is complete in German`, async () => {
    const texts = (await import(new URL(file, FOLDER).href)) as Record<string, object>;
    const found: string[] = [];
    for (const [name, text] of Object.entries(texts)) {
      const [english, german] = [copyOf(text, 'en'), copyOf(text, 'de-AT')];
      compare(name, english, german, found);
    }
    assert.deepEqual(found, []);
  });
}

test('what the API says of a value is said in German on a page in German', () => {
  const problem = (
    schema: { safeParse(value: unknown): { error?: { issues: { message: string }[] } | undefined } },
    value: unknown,
  ) => String(schema.safeParse(value).error?.issues[0]?.message);
  const messages = [
    ...[undefined, '', 'no address'].map((value) => problem(emailAddress(), value)),
    ...[problem(requiredText(3), 'long'), problem(requiredText(3), 1), problem(language(), 'x y')],
    'bcrypt: the variant $2e$ is not supported ($2a$, $2b$ and $2y$ are)',
  ];
  const german = inLanguage({ browser: 'de' }, () => messages.map(problemText));
  assert.deepEqual(german, [
    'fehlt',
    'darf nicht leer sein',
    'muss eine E-Mail-Adresse sein, zum Beispiel ann@example.com',
    'darf höchstens 3 Zeichen haben',
    'muss ein Text sein',
    'muss ein Sprachkürzel sein, zum Beispiel en oder de-CH',
    'bcrypt: Die Variante $2e$ wird nicht unterstützt',
  ]);
  assert.deepEqual(
    inLanguage({ browser: 'en' }, () => messages.map(problemText)),
    messages,
  );
  const cause = { field: 'user.email.email', message: 'is required' };
  assert.equal(
    inLanguage({ browser: 'de' }, () => nameOfCause(cause)),
    'Adresse: fehlt',
  );
  assert.equal(
    inLanguage({ browser: 'de' }, () => problemText('something rare')),
    'something rare',
  );
});
