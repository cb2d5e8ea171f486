/** What a dry run says about the mails of several organizations. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDraftMails, showDraftMails } from '../../src/cli/import/mails.ts';
import type { Session } from '../../src/cli/service/session.ts';

type Mailing = Awaited<ReturnType<typeof readDraftMails>>;

const mail = (users: number) => ({
  ...{ kind: 'verification' as const, language: 'de', users, subject: 'Acme: Bitte bestätigen', text: 'Guten Tag,\n' },
  ...{ html: '<p>Guten Tag,</p>', validForSeconds: 60 },
});

async function shown(mailing: Mailing): Promise<string[]> {
  const lines: string[] = [];
  const out = { line: (text: string) => void lines.push(text) };
  await showDraftMails({ out } as unknown as Session, mailing, undefined);
  return lines;
}

test('the mails of a dry run are those of one organization, below the number of each', async () => {
  const orgs = Array.from({ length: 25 }, (_, n) => ({
    orgId: `o-${n}`,
    name: n === 1 ? '' : `Org ${n}`,
    mails: 1000 - n,
  }));
  const lines = await shown({ orgId: 'o-3', orgs, moreOrgs: 1900, mails: [mail(997)] });
  assert.equal(lines[0], '  Mails that would be sent, by organization');
  assert.deepEqual(lines.slice(1, 3), ['          1,000  Org 0', '            999  o-1']);
  assert.deepEqual(lines.slice(20, 24), [
    '            981  Org 19',
    '                 1,905 more with fewer mails',
    '  Those of another one: --mails-of ORG.',
    '  Mails of Org 3 that would be sent, as people get them',
  ]);
  assert.equal(lines[24], '            997  de  Acme: Bitte bestätigen');
});

test('the mails of one organization are shown without its name, and none without mails', async () => {
  const orgs = [{ orgId: 'acme', name: 'Acme', mails: 2 }];
  assert.equal(
    (await shown({ orgId: 'acme', orgs, moreOrgs: 0, mails: [mail(2)] }))[0],
    '  Mails that would be sent, as people get them',
  );
  assert.deepEqual(await shown({ orgId: 'acme', orgs: [], moreOrgs: 0, mails: [] }), []);
});

test('an organization is named by its id, name or domain, and mails that nobody gets are left out', async () => {
  const asked: unknown[] = [];
  const api = {
    async call(operation: string, ...given: unknown[]) {
      if (operation !== 'previewImportMails') return ORGANIZATIONS;
      asked.push(given);
      return { orgId: 'o-2', orgs: [], moreOrgs: 0, mails: [mail(0), mail(3)] };
    },
  };
  const { mails } = await readDraftMails({ api } as unknown as Session, '7', 'Globex');
  assert.deepEqual([asked, mails.length], [[[{ importId: '7' }, { query: { orgId: 'o-2' } }]], 1]);
});

/** Of the caller, who is an owner of both. */
const ORGANIZATIONS = {
  instanceRoles: [],
  organizations: [
    { id: 'o-1', name: 'Acme', primaryDomain: 'acme.example' },
    { id: 'o-2', name: 'Globex', primaryDomain: 'globex.example' },
  ],
};
