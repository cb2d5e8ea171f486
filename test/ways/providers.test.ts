/**
 * With the providers of the presets set up, every user who came by one is found again by their account there, as
 * predicted; nobody else is. Of each source that exports links.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { type IdpType, PRESETS } from '../../src/contract/idp-presets.ts';
import { holdersOf } from '../../src/directory/idp-links.ts';
import { addProvider } from '../support/idp-rows.ts';
import { nameOf, type WaysUser, waysCases } from './cases.ts';
import { type Imported, importCase, inTurns } from './import-case.ts';
import { openStage, type Stage, setLoginPolicy } from './stage.ts';

const TYPES = ['google', 'microsoft', 'apple', 'github', 'gitlab', 'facebook', 'linkedin'] as const;
const hasLink = ({ cause, changes }: WaysUser) => cause === 'PROVIDER_NOT_SET_UP' || changes.includes('LINK_UNUSED');
const CASES = waysCases().filter(({ users }) => users.some(hasLink));

test('users come back by their accounts at providers, as predicted', async (t) => {
  const stage = await openStage(t);
  const done = await inTurns(CASES, 4, async (given) => {
    const org = await stage.newOrg();
    await setLoginPolicy(stage, org.orgId, { mailCode: 'withoutPassword' });
    for (const type of TYPES) await addProvider(stage.pool, { orgId: org.orgId, type, aliases: PRESETS[type].aliases });
    return importCase(stage, org, given);
  });
  for (const one of done) await t.test(one.given.source, () => compare(stage, one));
});

interface Account {
  name: string;
  isActive: boolean;
  hasPassword: boolean;
  idps: string[];
  /** Of each link: the users who are found by it. */
  found: string[][];
}

async function compare(stage: Stage, { org, given, predicted, imported }: Imported): Promise<void> {
  const accounts = await accountsOf(stage, org.orgId);
  assert.deepEqual([...imported], [...predicted]);
  for (const user of given.users) {
    const name = nameOf(user);
    const account = accounts.get(name);
    assert.ok(account, name);
    const signsIn = account.isActive && account.found.some((names) => names.length === 1 && names[0] === name);
    const { way, changes } = predicted.get(name) ?? {};
    const isPerhaps = user.cause === 'UNKNOWN_PASSWORD';
    const byPassword = user.way.startsWith('PASSWORD') && !isPerhaps;
    assert.equal(way === 'PROVIDER', signsIn && !byPassword, `${user.who}: ${way}, of ${account.idps}`);
    if (!signsIn) assert.deepEqual([way, predicted.get(name)?.cause], [user.way, user.cause], user.who);
    if (signsIn)
      assert.equal(
        changes?.some((change) => change.endsWith('LINK_UNUSED')),
        false,
        user.who,
      );
    const isSocial = /Google|GitHub|Apple/.test(user.who) && hasLink(user);
    if (isSocial && account.idps.length > 0) assert.ok(signsIn, `${user.who}: ${account.idps} is no alias of a preset`);
  }
}

async function accountsOf({ pool }: Stage, orgId: string): Promise<Map<string, Account>> {
  const providers = await pool.query<{ id: string; type: IdpType }>('select id, type from idps where org_id = $1', [
    orgId,
  ]);
  const { rows } = await pool.query<Omit<Account, 'found'> & { subjects: string[] }>(
    `select u.user_name as name, u.state in ('active', 'initial') as "isActive", u.password_hash is not null as "hasPassword",
       coalesce(array_agg(l.idp_id) filter (where l.idp_id is not null), '{}') as idps,
       coalesce(array_agg(l.external_user_id) filter (where l.idp_id is not null), '{}') as subjects
     from users u left join user_idp_links l on l.user_id = u.id where u.org_id = $1 group by u.id`,
    [orgId],
  );
  const names = new Map(
    (await pool.query('select id, user_name from users where org_id = $1', [orgId])).rows.map((row) => [
      row.id,
      row.user_name,
    ]),
  );
  const accounts = new Map<string, Account>();
  for (const { subjects, ...account } of rows) {
    const found: string[][] = [];
    for (const { id } of providers.rows) {
      for (const subject of subjects) {
        const holders = await holdersOf(pool, { id }, [subject], orgId);
        if (holders.length > 0) found.push(holders.map(({ userId }) => names.get(userId)));
      }
    }
    accounts.set(account.name, { ...account, found });
  }
  return accounts;
}
