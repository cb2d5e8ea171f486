/** The callers that go on at an even pace: logins, failed logins, status polls, tokens and password resets. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scope } from '../scope.ts';
import { importAll } from '../testbed/import-all.ts';
import { importBody, userId } from '../testbed/load.ts';
import { startProgram } from '../testbed/programs.ts';
import type { Service } from '../testbed/testbed.ts';
import { entry, type Imports, nextUser } from './imports.ts';
import { Meter } from './meter.ts';

/** Users who log in and get reset codes. */
const PEOPLE = 200;
/** The number of different passwords (bench/testbed/load.ts). */
const PASSWORDS = 6;
/** On average. It varies: callers that stay in step for minutes, or drift apart, would change the times of all of them. */
const PAUSE_MS = 1000;
/** Callers of each kind. */
const CALLERS = { login: 5, 'failed login': 2, poll: 20, token: 2, reset: 2 };

export type CallName = keyof typeof CALLERS;

interface Callers {
  scope: Scope;
  service: Service;
  imports: Imports;
  ending: AbortSignal;
}

/** Imports the people of the calls. Call it before the first import of the load. */
export async function addPeople(service: Service): Promise<void> {
  if (nextUser(PEOPLE) !== 0) throw new Error('The people of the calls must be the first users.');
  await importAll(service, importBody(PEOPLE, service.orgId, entry), PEOPLE);
}

/** Starts them; returns the meter of each kind. */
export async function startCalls(callers: Callers): Promise<Record<CallName, Meter>> {
  const { token } = await startProgram(callers.scope, callers.service, 'soak');
  const calls = { ...callsOfPeople(callers), token };
  const meters = Object.fromEntries(
    Object.entries(calls).map(([name, call]) => [name, pace(name as CallName, call, callers.ending)]),
  );
  return meters as Record<CallName, Meter>;
}

function callsOfPeople({ service: { client }, imports }: Callers): Record<Exclude<CallName, 'token'>, Call> {
  const session = (user: object, password: string) =>
    client.call('POST', '/v2beta/sessions', { checks: { user, password: { password } } }, undefined, 201);
  const someone = () => Math.floor(Math.random() * PEOPLE);
  return {
    login(n = someone()) {
      return session({ userId: userId(n) }, `correct horse ${n % PASSWORDS}`);
    },
    'failed login'() {
      const user = { loginName: `nobody-${randomBytes(6).toString('hex')}` };
      const checks = { user, password: { password: 'wrong' } };
      return client.call('POST', '/v2beta/sessions', { checks }, undefined, 400);
    },
    poll: () => client.call('GET', `/admin/v1/imports/${imports.any()}`),
    reset: () => client.call('POST', `/v2beta/users/${userId(someone())}/password_reset`, { returnCode: {} }),
  };
}

type Call = () => Promise<unknown>;

/** Starts the callers: each calls about once a second, or as soon as its call is answered, so that they never pile up. */
function pace(name: CallName, call: Call, ending: AbortSignal): Meter {
  const meter = new Meter(name);
  const loop = async () => {
    while (!ending.aborted) await Promise.all([meter.run(ending, call), sleep(PAUSE_MS * (0.5 + Math.random()))]);
  };
  for (let n = 0; n < CALLERS[name]; n++) void loop();
  return meter;
}
