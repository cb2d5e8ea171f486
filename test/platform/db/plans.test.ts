/** Frequent statements read a number of rows that depends on their work, not on the size of the tables. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { COUNTED, searchUsers } from '../../../src/directory/users/search.ts';
import { type Grown, grow, openSmall } from '../../support/stores/grown.ts';
import { hotSteps, type Size, type Step } from '../../support/stores/hot-steps.ts';
import { reportRead, rowsRead } from '../../support/stores/rows-read.ts';

const GROWN = 4000;
/**
 * Limit of rows and index entries of one table, for a batch of some users; a scan of a whole table reads at least
 * GROWN.
 */
const MOST_READ = 1500;
/** PostgreSQL may keep a plan from the sixth execution on. */
const TIMES = 6;

/** Users of the import while tables are small, and when they have grown: a batch is a small part of its import. */
const FEW: Size = { users: 1, importUsers: 1 };
const MANY: Size = { users: 20, importUsers: GROWN };

const NAMES = Object.keys(hotSteps({ pools: {} } as Grown, FEW));

for (const analyzed of ['after being analyzed', 'and were never analyzed']) {
  describe(`in tables that grew ${analyzed}`, () => {
    let grown: Grown;
    let steps: Record<string, Step>;

    before(async () => {
      grown = await openSmall('plans');
      steps = hotSteps(grown, MANY);
      const once = async () => {
        for (const step of Object.values(hotSteps(grown, FEW))) await step.run((await step.plant?.()) ?? '');
      };
      if (analyzed.startsWith('after')) {
        await once();
        await grown.pools.observer.query('vacuum (analyze)');
      }
      for (let n = 0; n < TIMES; n++) await once();
      await grow(grown.pools.observer, GROWN);
    });
    after(() => grown.close());

    for (const name of NAMES) {
      it(`${name} reads only the rows that it works on`, async () => {
        const { pool, plant, run } = steps[name] as Step;
        const importId = (await plant?.()) ?? '';
        await reportRead(...Object.values(grown.pools));
        const read = await rowsRead(grown.pools[pool], grown.pools.observer, () => run(importId));
        const tooMany = Object.entries(read).filter(([, n]) => n > MOST_READ);
        assert.deepEqual(tooMany, []);
      });
    }

    it('a search reads the users of its page, and counts some thousands', async () => {
      const { api, observer } = grown.pools;
      await observer.query(
        `insert into users (id, org_id, kind, state, user_name, user_name_key, email, email_key, sequence)
         select 'many' || n, 'org', 'human', 'active', 'many' || n, 'many' || n, 'e', 'e', 1
         from generate_series(1, $1) n`,
        [3 * COUNTED],
      );
      const org = { organizationIdQuery: { organizationId: 'org' } };
      const prefix = { userNameQuery: { userName: 'many', method: 'TEXT_QUERY_METHOD_STARTS_WITH' } };
      for (const queries of [
        [],
        [org],
        [prefix],
        [org, prefix],
        [org, { stateQuery: { state: 'USER_STATE_ACTIVE' } }],
      ]) {
        const page = { limit: 5, offset: 0, asc: true };
        const read = await rowsRead(api, observer, async () => {
          assert.ok((await searchUsers(api, { queries, page })).isEstimate);
        });
        // Counts index entries and, as these users are not vacuumed yet, their rows.
        assert.ok((read.users ?? 0) < 2 * COUNTED + 100, `${JSON.stringify(queries)} reads ${read.users} rows`);
      }
    });
  });
}
