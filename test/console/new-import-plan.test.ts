/** What was chosen in the steps of a new import, in addresses and as a command line. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { likelyOrg, NAMING, namesNoOrganization } from '../../src/console/new-import/options.ts';
import { commandFor, conversionOf, isConverted, planOf, queryOfPlan } from '../../src/console/new-import/plan.ts';
import type { Guess, ShownDraft } from '../../src/console/shapes.ts';
import { SOURCES } from '../../src/sources/registry.ts';

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
  const guess = (source: string, mapping: Record<string, string> = {}): Guess => {
    return { source, candidates: [], files: [], mapping };
  };
  const plan = (query: Record<string, string> = {}) => planOf(query, DRAFT);
  assert.equal(namesNoOrganization(plan(), guess('auth0')), true);
  assert.equal(namesNoOrganization(plan(), guess('zitadel')), false);
  assert.equal(namesNoOrganization(plan({ source: 'auth0' }), guess('zitadel')), true);
  assert.equal(namesNoOrganization(plan(), guess('csv', { email: 'Mail' })), true);
  assert.equal(namesNoOrganization(plan(), guess('csv', { email: 'Mail', orgId: 'Org' })), false);
  assert.equal(namesNoOrganization(plan({ 'map.email': 'Mail' }), guess('csv', { email: 'Mail', orgId: 'Org' })), true);
  // Nothing is known before the files arrive, and of users who came in a request.
  assert.equal(namesNoOrganization(plan(), undefined), false);
});

test('the systems whose users can name their organization are known', () => {
  const files = globSync('src/sources/systems/*.ts').filter((file) => readFileSync(file, 'utf8').includes('orgId:'));
  const names = files.map((file) => file.replace(/^.*\/|\.ts$/g, ''));
  // The file of sources whose columns a person maps.
  assert.deepEqual(names.filter((name) => name !== 'mapped').toSorted(), [...NAMING].toSorted());
  for (const name of NAMING)
    assert(
      SOURCES.some((source) => source.name === name),
      name,
    );
});
