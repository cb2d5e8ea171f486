/**
 * One round: users to update, then imports and faults at the same time, then peace, then the comparison.
 *
 * Guarantee: the comparison begins when every fault is repaired and nothing runs any more, or has had PEACE_MS for it.
 */
import { check, type Evidence } from './check/check.ts';
import { countRepeated } from './check/mails.ts';
import { type Calls, openCalls } from './client/calls.ts';
import { newPeople, type Person, samePeople } from './client/people.ts';
import { idOf, type Problem, type SentImport, sentImport } from './client/sent.ts';
import { newSingle, type SentSingle, sendSingle } from './client/singles.ts';
import { type Caller, tell } from './client/story.ts';
import { FAULTS } from './faults/registry.ts';
import { strikeAll } from './faults/strike.ts';
import { BASE, type PlannedImport } from './plan/imports.ts';
import type { Plan } from './plan/plan.ts';
import { singlesOf, untilSettled } from './settle.ts';
import type { Stand } from './stand/stand.ts';

export interface Outcome {
  problems: Problem[];
  users: number;
  faults: number;
  mailsRepeated: number;
}

interface Scene {
  caller: Caller;
  orgIds: [string, string];
  secret: string;
}

export async function runRound(stand: Stand, plan: Plan): Promise<Outcome> {
  await stand.use(plan.setup);
  let peaceSince: number | undefined = performance.now();
  const { apis, token } = stand;
  const calls = openCalls({ apis, token, peaceSince: () => peaceSince });
  const scene = await openScene(stand, calls, plan);
  const base = newPeople(`r${plan.round}base`, BASE.users, scene.orgIds);
  const names = ['Arbor'];
  for (const { sent } of base) sent.familyNames = names;
  const first = sentImport(`${plan.round}-base`, base, BASE);
  await tell(scene.caller, BASE, base, first);

  const stories = plan.imports.map((planned) => {
    const people = peopleOf(plan, planned, scene, base, names);
    return { planned, people, sent: sentImport(`${plan.round}-${planned.name}`, people, planned) };
  });
  const sent = [first, ...stories.map((story) => story.sent)];
  const telling = stories.map((story) => tellOrReport(scene.caller, story.planned, story.people, story.sent));
  const singles = plan.singles.map((planned) => newSingle(`r${plan.round}`, planned));
  const sending = plan.singles.map((planned, i) =>
    sendSingle(calls, scene.orgIds[0], planned, singles[i] as SentSingle, i),
  );
  peaceSince = undefined;
  await strikeAll(stand, plan.faults, FAULTS);
  peaceSince = performance.now();
  stand.receiver.answer();
  await Promise.all([...telling, ...sending]);
  const ids = [...sent.flatMap((one) => idOf(one) ?? []), ...(await singlesOf(stand.pool, scene.orgIds))];
  const stuck = await untilSettled(stand, ids);
  const evidence = evidenceOf(stand, calls, scene);
  const problems = stuck.length > 0 ? stuckProblems(sent, stuck) : await check(sent, evidence, singles);
  return {
    problems,
    users: sent.reduce((sum, { users }) => sum + users.length, singles.length),
    faults: plan.faults.length,
    mailsRepeated: sent.reduce((sum, one) => sum + countRepeated(one, evidence), 0),
  };
}

/** Two new organizations, of which the first has a webhook secret. */
async function openScene(stand: Stand, calls: Calls, { round, seed }: Plan): Promise<Scene> {
  const newOrg = async (n: number): Promise<string> => {
    const body = JSON.stringify({ name: `Round ${seed}-${round}-${n}-${Date.now()}` });
    return (await calls.call({ method: 'POST', path: '/management/v1/orgs', body })).body.id;
  };
  const orgIds: [string, string] = [await newOrg(1), await newOrg(2)];
  const [signer] = orgIds;
  const path = '/management/v1/orgs/me/webhook_secret';
  const { secret } = (await calls.call({ method: 'PUT', path, headers: { 'x-service-orgid': signer } })).body;
  return { caller: { calls, hook: stand.receiver.url, signer }, orgIds, secret };
}

function peopleOf(plan: Plan, planned: PlannedImport, scene: Scene, base: Person[], names: string[]): Person[] {
  const { name, onExisting, users } = planned;
  if (onExisting === 'fail') return newPeople(`r${plan.round}${name}`, users, scene.orgIds);
  if (onExisting === 'skip') return samePeople(base, names, { skip: true });
  names.push(`Arbor ${name}`);
  return samePeople(base, names, { lastName: `Arbor ${name}` });
}

async function tellOrReport(caller: Caller, planned: PlannedImport, people: Person[], sent: SentImport): Promise<void> {
  await tell(caller, planned, people, sent).catch((error: Error) => {
    sent.problems.push({
      kind: 'stuck',
      name: sent.name,
      importId: idOf(sent) ?? '',
      what: error.message,
      ids: [sent.name],
    });
  });
}

function stuckProblems(sent: SentImport[], stuck: string[]): Problem[] {
  const own = sent.flatMap(({ problems }) => problems);
  return [...own, { kind: 'stuck', name: 'the round', importId: '', what: 'not settled after all faults', ids: stuck }];
}

function evidenceOf(stand: Stand, calls: Calls, { orgIds, secret }: Scene): Evidence {
  return {
    db: stand.pool,
    calls,
    orgIds,
    copies: Map.groupBy(stand.smtp.copies, ({ to }) => to),
    troubles: stand.troubles,
    messages: stand.receiver.messages,
    webhookSecret: secret,
  };
}
