/** What was chosen in the steps of a new import, in addresses and as a command line. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { likelyOrg, namesNoOrganization, requireNamed } from '../../src/console/new-import/options.ts';
import {
  commandFor,
  conversionOf,
  isConverted,
  planOf,
  queryOfPlan,
  sourceOf,
} from '../../src/console/new-import/plan.ts';
import type { Guess, ShownDraft } from '../../src/console/shapes.ts';

const FILE = { fileId: 'f', name: 'people.csv', kind: 'users', size: 1, offset: 1 } as const;
const DRAFT: ShownDraft = { createdBy: '', expiresAt: '', orgId: '', files: [FILE], source: '' };

test('an address carries what the draft does not know yet, and nothing else', () => {
  assert.equal(queryOfPlan(planOf({}, DRAFT), DRAFT), '');
  const plan = planOf(
    {
      source: 'csv',
      encoding: 'shift_jis',
      'map.email': 'E-Mail & Co',
      'map.displayName': '',
      org: 'acme',
      existing: 'update',
      noEmail: '1',
      passwords: 'src',
    },
    DRAFT,
  );
  const query = Object.fromEntries(new URLSearchParams(queryOfPlan(plan, DRAFT)));
  assert.deepEqual(planOf(query, DRAFT), plan);
  assert.equal(isConverted(plan, DRAFT), false);
  const converted: ShownDraft = { ...DRAFT, conversion: conversionOf(plan) };
  assert.equal(isConverted(plan, converted), true);
  assert.equal(queryOfPlan(plan, converted), '?existing=update');
  assert.deepEqual([conversionOf(plan).passwordSource, conversionOf(plan).encoding], ['src', 'shift_jis']);
  const without = planOf({ passwords: '' }, converted);
  assert.deepEqual([isConverted(without, converted), queryOfPlan(without, converted)], [false, '?passwords=']);
  // The columns have other names in another encoding; an encoding that does not exist is none.
  const recognized = planOf({ encoding: 'klingon' }, converted);
  assert.deepEqual([recognized.encoding, recognized.mapping], ['', {}]);
  assert.deepEqual([isConverted(recognized, converted), queryOfPlan(recognized, converted)], [false, '?encoding=']);
  // The mapping of one source means nothing for another one.
  assert.deepEqual(planOf({ source: 'auth0' }, converted).mapping, {});
  assert.equal(isConverted(planOf({ source: 'auth0' }, converted), converted), false);
});

test('what other callers of the API have set stays, also when a step changes something else', () => {
  const others = {
    idPrefix: 'shop-',
    quoteAddresses: true,
    unknownPasswords: 'keep' as const,
    format: 'csv' as const,
    strict: true,
  };
  const draft: ShownDraft = { ...DRAFT, source: 'csv', conversion: { source: 'csv', ...others } };
  const plan = planOf({ org: 'acme', 'map.email': 'Mail' }, draft);
  assert.deepEqual(conversionOf(plan), { ...others, source: 'csv', orgId: 'acme', mapping: { email: 'Mail' } });
  const converted: ShownDraft = { ...draft, orgId: 'acme', conversion: conversionOf(plan) };
  assert.equal(isConverted(planOf({}, converted), converted), true);
  assert.match(
    commandFor(converted, plan),
    /--from csv --format csv --id-prefix shop- --quote-addresses --unknown-passwords keep --strict --org acme --map email=Mail/,
  );
});

test('that no column is mapped any more is a choice, also for a known system', () => {
  const draft: ShownDraft = {
    ...DRAFT,
    source: 'devise',
    conversion: { source: 'devise', mapping: { disabled: 'old' } },
  };
  const plan = { ...planOf({}, draft), mapping: {} };
  const query = Object.fromEntries(new URLSearchParams(queryOfPlan(plan, draft)));
  assert.deepEqual(planOf(query, draft).mapping, {});
  assert.equal(isConverted(plan, draft), false);
});

test('the command line quotes names of files and columns, and takes none for an option', () => {
  const files = [
    { ...FILE, name: "-Ann's users.csv" },
    { ...FILE, name: 'hashes.csv', kind: 'hashes' as const },
    { ...FILE, name: 'config.txt', kind: 'hash_parameters' as const },
  ];
  const plan = planOf(
    { 'map.email': '$(Mail)', existing: 'skip', timeout: '30m', passwords: 'src', hashFormat: 'sha1(salt + password)' },
    DRAFT,
  );
  assert.equal(
    commandFor({ ...DRAFT, files, source: 'csv', pepper: 'prefix' }, plan),
    `muster import './-Ann'\\''s users.csv' --hashes hashes.csv --hash-config config.txt --from csv --map 'email=$(Mail)'` +
      " --hash-format 'sha1(salt + password)'" +
      ' --on-existing skip --password-source src --pepper-mode prefix --mails none --timeout 30m',
  );
});

test('only the organization of a person who has one is chosen for them, never that of the service itself', () => {
  const [own, other] = [
    { id: 'own', name: 'Own' },
    { id: 'other', name: 'Other' },
  ];
  assert.equal(likelyOrg([own], false), 'own');
  assert.equal(likelyOrg([own, other], false), '');
  assert.equal(likelyOrg([own], true), '');
});

test('an organization is asked for where the files name none', () => {
  const column = (name: string, ...texts: string[]) => ({
    name,
    samples: texts.map((text) => ({ text })),
    becomes: '',
  });
  const file = {
    ...{ fileId: 'f', name: 'users.csv', kind: 'users' as const, isHashes: false, format: 'csv', encoding: 'utf-8' },
    ...{ doubtful: 0, isGzip: false, delimiter: ',', columns: [column('Org', 'acme'), column('Empty')] },
  };
  const guess = (namesOrganizations: boolean, mapping: Record<string, string> = {}): Guess => {
    return { source: 'csv', candidates: [], files: [file], mapping, namesOrganizations };
  };
  const plan = (query: Record<string, string> = {}) => planOf(query, DRAFT);
  assert.equal(namesNoOrganization(plan(), guess(false)), true);
  assert.equal(namesNoOrganization(plan(), guess(true)), false);
  // A column that a person chose, left out, or that has no values.
  assert.equal(namesNoOrganization(plan({ 'map.orgId': 'Org' }), guess(false)), false);
  assert.equal(namesNoOrganization(plan({ 'map.orgId': 'Empty' }), guess(true)), true);
  assert.equal(namesNoOrganization(plan({ 'map.orgId': '' }), guess(true, { orgId: 'Org' })), true);
  // Nothing is known before the files arrive, and of users who came in a request.
  assert.equal(namesNoOrganization(plan(), undefined), false);
  const required = (given: Guess | string | undefined, hasFiles: boolean) => () =>
    requireNamed(plan(), given, { mayCreate: false, hasFiles });
  assert.doesNotThrow(required(undefined, false));
  for (const given of [undefined, 'The files cannot be recognized.', guess(false)])
    assert.throws(required(given, true), { id: 'CONSOLE-OPTIONS' });
});

test('what no source recognizes is read as a table of one’s own, or a person must choose', () => {
  const guess = (format: string, source = '', names: string[] = []): Guess => {
    const candidates = names.map((name) => ({ source: name, title: name, certainty: 0.5 }));
    const file = { ...{ fileId: 'f', name: 'users', kind: 'users' as const, isHashes: false, format, columns: [] } };
    const files = [{ ...file, encoding: 'utf-8', doubtful: 0, isGzip: false, delimiter: ',' }];
    return { source, candidates, files, mapping: {}, namesOrganizations: false };
  };
  const plan = planOf({}, DRAFT);
  assert.equal(sourceOf(plan, guess('csv')), 'csv');
  assert.equal(sourceOf(plan, guess('json')), '');
  assert.equal(sourceOf(plan, guess('csv', '', ['devise', 'laravel'])), '');
  assert.equal(sourceOf(plan, guess('csv', 'devise', ['devise'])), 'devise');
  assert.equal(sourceOf(planOf({ source: 'okta' }, DRAFT), guess('csv')), 'okta');
  // An address with a source that does not exist names none.
  assert.equal(planOf({ source: 'klingon' }, DRAFT).source, '');
});
