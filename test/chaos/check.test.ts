/** The checker of `npm run chaos` finds what is wrong: each violation is planted in a database that was right before. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { check, type Evidence } from '../../chaos/check/check.ts';
import { openCalls } from '../../chaos/client/calls.ts';
import { newPeople } from '../../chaos/client/people.ts';
import { idOf, type Problem, type SentImport, sentImport } from '../../chaos/client/sent.ts';
import { newSingle, type SentSingle, sendSingle } from '../../chaos/client/singles.ts';
import { tell } from '../../chaos/client/story.ts';
import { BASE } from '../../chaos/plan/imports.ts';
import { singlesOf, untilSettled } from '../../chaos/settle.ts';
import { type Copy, copyOf } from '../../chaos/stand/smtp.ts';
import { startEmbeddedPostgres } from '../../src/platform/db/embedded/embedded.ts';
import { openPool } from '../../src/platform/db/pool.ts';
import { must, startService } from '../support/processes/service.ts';
import { startReceiver } from '../support/receiver.ts';

const USERS = 12;
/** In every import: a user who is due no mail, and one who is due one. */
const [QUIET, MAILED] = [0, 1];

interface Planted {
  sent: SentImport;
  id: string;
  /** Name of a user. */
  name(index: number): string;
  evidence: Evidence;
}

/** What is planted in an import of its own, and the problems that follow. */
const PLANTS: Record<string, { plant(at: Planted): Promise<unknown>; found: string[] }> = {
  nothing: { plant: async () => {}, found: [] },
  'a user who is gone': {
    plant: ({ evidence: { db }, name }) => db.query('delete from users where user_name = $1', [name(QUIET)]),
    found: ['lost: successes without their user'],
  },
  'a user who was changed': {
    plant: ({ evidence: { db }, name }) =>
      db.query(`update users set email = 'other@chaos.test' where user_name = $1`, [name(QUIET)]),
    found: ['lost: users that differ from what was sent'],
  },
  'a user who is not settled': {
    plant: ({ evidence: { db }, id }) =>
      db.query(`update import_items set state = 'pending' where import_id = $1 and ordinal = ${QUIET}`, [id]),
    found: [
      'doubled: events of creation that do not match the users',
      'doubled: rows of users that are no success',
      'lost: items without the state that an import in state completed_with_errors must give them',
      'wrongCounts: counts of organizations',
      'wrongCounts: counts of the import',
      'wrongCounts: the counts that the API answers',
      'wrongCounts: the report as dataorgs',
      'wrongCounts: the state',
    ],
  },
  'a second event': {
    plant: ({ evidence: { db }, id }) =>
      db.query(
        `insert into events (aggregate_type, aggregate_id, resource_owner, type, editor, payload)
         select aggregate_type, aggregate_id, resource_owner, type, editor, payload from history
         where payload ->> 'importId' = $1::text and type = 'user.human.imported' limit 1`,
        [id],
      ),
    found: ['doubled: events of creation that do not match the users'],
  },
  'a second id for its key': {
    plant: async ({ sent }) => sent.importIds.add('999999'),
    found: ['doubled: ids for one key'],
  },
  'a user written after the import had stopped': {
    plant: async ({ sent, id, evidence: { db } }) => {
      sent.stopped.push({ from: Date.now(), until: Number.POSITIVE_INFINITY });
      await db.query(
        `with gone as (delete from events where sequence = (
           select min(sequence) from events where payload ->> 'importId' = $1::text) returning *)
         insert into events (sequence, aggregate_type, aggregate_id, resource_owner, type, editor, payload)
         overriding system value
         select sequence, aggregate_type, aggregate_id, resource_owner, type, editor, payload from gone`,
        [id],
      );
    },
    found: ['late: users written after the answer that the import has stopped'],
  },
  'a user written after the deadline': {
    plant: ({ evidence: { db }, id }) =>
      db.query(`update imports set state = 'timed_out', deadline = now() - interval '1 hour' where id = $1`, [id]),
    found: ['late: users written after the deadline', 'webhooksMissing: no message of the end'],
  },
  'a count that is wrong': {
    plant: ({ evidence: { db }, id }) =>
      db.query('update imports set succeeded = succeeded - 1, skipped = skipped + 1 where id = $1', [id]),
    found: [
      'webhooksMissing: no message of the end',
      'wrongCounts: counts of the import',
      'wrongCounts: the counts that the API answers',
    ],
  },
  'a count of an organization that is wrong': {
    plant: ({ evidence: { db }, id }) =>
      db.query('update import_orgs set failed = failed + 1 where import_id = $1 and org_index = 0', [id]),
    found: ['wrongCounts: counts of organizations'],
  },
  'a mail that did not arrive': {
    plant: async ({ evidence: { copies }, name }) => copies.delete(`${name(MAILED)}@chaos.test`),
    found: ['mailsMissing: users without their mail'],
  },
  'a mail that arrived twice': {
    plant: async ({ evidence: { copies }, name }) => {
      const same = copies.get(`${name(MAILED)}@chaos.test`) as Copy[];
      same.push({ ...(same[0] as Copy) });
    },
    found: ['mailsDoubled: users with two mails'],
  },
  'a mail that is not due': {
    plant: async ({ evidence: { copies }, name }) => {
      const to = `${name(QUIET)}@chaos.test`;
      copies.set(to, [copyOf(Buffer.from('Message-ID: <1@chaos.test>\r\n\r\n'), to, 'worker')]);
    },
    found: ['mailsDoubled: users with a mail that is not due'],
  },
  'a webhook that did not arrive': {
    plant: async ({ evidence, id }) => {
      evidence.messages = evidence.messages.filter(({ body }) => body.importId !== id);
    },
    found: ['webhooksMissing: no message of the end'],
  },
  'a webhook with two ids': {
    plant: async ({ evidence: { messages }, id }) => {
      const one = messages.find(({ body }) => body.importId === id);
      assert.ok(one);
      messages.push({ ...one, headers: { ...one.headers, 'webhook-id': 'msg_other' } });
    },
    found: ['webhooksDoubled: ends with two ids', 'webhooksMissing: messages that are not genuine'],
  },
};

test('the checker of chaos', async (t) => {
  const dataDir = join(tmpdir(), `muster-chaos-${randomBytes(4).toString('hex')}`);
  const settings = { fsync: 'off', track_commit_timestamp: 'on' };
  const server = await startEmbeddedPostgres({ dataDir, settings, background: true });
  const pool = openPool(server.url, { max: 3, name: 'test' });
  const receiver = await startReceiver();
  const service = await startService(t, {
    backend: 'postgres',
    database: { url: server.url, pool },
    env: { WEBHOOK_ALLOW_PRIVATE: 'true' },
    async onStopped() {
      await Promise.all([receiver.stop(), pool.end()]);
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  });
  const orgs = [await service.newOrg(), await service.newOrg()];
  const orgIds = orgs.map(({ orgId }) => orgId) as [string, string];
  const [signer] = orgIds;
  const secretPath = '/management/v1/orgs/me/webhook_secret';
  const { secret } = (await must(service.call('PUT', secretPath, undefined, { orgId: signer }))).body;
  const calls = openCalls({
    apis: [{ lines: { front: { port: Number(new URL(service.url).port) } } }],
    token: service.token,
  });

  const sent: SentImport[] = [];
  for (const [i, name] of Object.keys(PLANTS).entries()) {
    const people = newPeople(`p${i}x`, USERS, orgIds);
    const planned = { ...BASE, webhook: true };
    const one = sentImport(name, people, planned);
    await tell({ calls, hook: receiver.url, signer }, planned, people, one);
    sent.push(one);
  }
  const planned = [...'abcdefgh'].map((name, i) => ({
    name,
    atMs: 0,
    keyed: i % 2 === 0,
    mailDue: 'eg'.includes(name),
  }));
  const singles = planned.map((one) => newSingle('single-', one));
  await Promise.all(planned.map((one, i) => sendSingle(calls, signer, one, singles[i] as SentSingle, 0)));
  const ids = sent.map((one) => idOf(one) as string);
  const watched = { pool, queues: { depth: service.depth } };
  assert.deepEqual(await untilSettled(watched, [...ids, ...(await singlesOf(pool, orgIds))]), []);
  const mails = service.smtp.mails.map(({ raw, to }) => ({ ...copyOf(raw, to[0] as string, 'worker'), replied: true }));
  const evidence: Evidence = {
    db: pool,
    calls,
    orgIds,
    copies: Map.groupBy(mails, ({ to }) => to),
    troubles: { any: () => false },
    messages: [...receiver.messages],
    webhookSecret: secret,
  };

  await t.test('finds nothing where nothing is wrong', async () => {
    assert.ok(evidence.copies.size > 0);
    assert.deepEqual(await check(sent, evidence, singles), []);
    assert.deepEqual(new Set(singles.flatMap(({ answers }) => answers.map(({ status }) => status))), new Set([200]));
  });

  await t.test('finds each violation, in its import alone', async () => {
    for (const [i, one] of sent.entries()) {
      const name = (index: number) => one.users[index]?.userName as string;
      await PLANTS[one.name]?.plant({ sent: one, id: ids[i] as string, name, evidence });
    }
    const found = Map.groupBy(await check(sent, evidence, singles), ({ name }: Problem) => name);
    for (const [name, { found: expected }] of Object.entries(PLANTS)) {
      const texts = (found.get(name) ?? []).map(({ kind, what }) => `${kind}: ${what}`);
      assert.deepEqual(texts.sort(), expected, name);
    }
    assert.deepEqual(found.get('the round'), undefined);
  });

  await t.test('finds what is wrong with a single import', async () => {
    const [gone, late, other, twice, missing, undue, mailed, unanswered] = singles;
    assert.ok(gone && late && other && twice && missing && undue && mailed && unanswered);
    await pool.query('delete from users where user_name = $1', [gone.userName]);
    late.answers = [{ status: 504 }];
    other.answers.push({ status: 200, userId: 'another' });
    await pool.query(
      `insert into events (aggregate_type, aggregate_id, resource_owner, type, editor, payload)
       select aggregate_type, aggregate_id, resource_owner, type, editor, payload from history
       where aggregate_id = (select id from users where user_name = $1) and type = 'user.human.imported'`,
      [twice.userName],
    );
    evidence.copies.delete(missing.email);
    evidence.copies.set(undue.email, [
      copyOf(Buffer.from('Message-ID: <2@chaos.test>\r\n\r\n'), undue.email, 'worker'),
    ]);
    evidence.copies.get(mailed.email)?.push(copyOf(Buffer.from('another'), mailed.email, 'worker'));
    unanswered.wrong = 'no answer';
    const found = (await check([], evidence, singles)).filter(({ name }) => name === 'single imports');
    assert.deepEqual(
      found.map(({ kind, what, ids: wrong }) => [`${kind}: ${what}`, wrong.join()]),
      [
        ['stuck: requests with a wrong answer', `${unanswered.userName}: no answer`],
        ['lost: users who do not exist after 200', gone.userName],
        ['late: users who exist after 504', late.userName],
        ['doubled: ids that differ from the answer', other.userName],
        ['doubled: keys with two answers', other.userName],
        ['doubled: users without exactly one event', twice.userName],
        ['mailsMissing: users without their mail', missing.userName],
        ['mailsDoubled: mails that are not due', undue.userName],
        ['mailsDoubled: users with two mails', mailed.userName],
      ],
    );
  });

  await t.test('finds a user and an import that nobody sent', async () => {
    const all = await check(sent.slice(1), evidence, singles);
    const ofRound = all.filter(({ name }) => name === 'the round').map(({ kind, ids: wrong }) => [kind, wrong.length]);
    const people = sent[0]?.users.filter(({ fate }) => fate === 'created').length;
    assert.deepEqual(ofRound, [
      ['lost', people],
      ['doubled', 1],
    ]);
  });

  await t.test('excuses a repeated mail whose first delivery could not be recorded', async () => {
    const twice = sent.filter(({ name }) => name === 'a mail that arrived twice');
    const kinds = async (broken: string) => {
      const troubles = { any: (place: string) => place === broken };
      return (await check(twice, { ...evidence, troubles }))
        .map(({ kind }) => kind)
        .filter((kind) => kind.startsWith('mail'));
    };
    assert.deepEqual(await kinds('worker'), []);
    assert.deepEqual(await kinds('other'), ['mailsDoubled']);
  });

  await t.test('reports what does not settle', async () => {
    await pool.query(`update imports set state = 'running', deadline = now() + interval '1 day' where id = $1`, [
      ids[0],
    ]);
    assert.deepEqual(await untilSettled(watched, [ids[0] as string], 0), [`import ${ids[0]} is running`]);
    await pool.query(`update imports set state = 'succeeded' where id = $1`, [ids[0]]);
  });
});
