/**
 * People at external providers, who come to the sign-in page by the button of their provider. Google, Microsoft, GitHub
 * and Apple are played by test/support/providers.ts; a company's connection is OpenID Connect.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { IdpType } from '../../src/contract/idp-presets.ts';
import { addClient, REDIRECT_URI } from '../signin/pages/visitor.ts';
import {
  type Arrived,
  addProvider,
  alertOf,
  hasCode,
  type Traveller,
  traveller,
} from '../signin/providers/traveller.ts';
import { tokenCall } from '../support/oauth.ts';
import { type Person, type ProviderKind, startProvider, type TestProvider } from '../support/providers.ts';
import { codeAt } from '../support/totp.ts';
import type { Stage } from './stage.ts';

/** A provider that runs, and as what it is set up. */
export interface Known {
  at: TestProvider;
  idpId: string;
}

export interface Providers {
  clientId: string;
  /** The providers of the instance, which are set up from the presets. */
  presets: ReadonlyMap<IdpType, Known>;
  /** At which companies have their connections. */
  company: TestProvider;
}

const KINDS: readonly ProviderKind[] = ['google', 'microsoft', 'github', 'apple'];

/** Starts the providers, and sets up those of the presets; they stop with the test. */
export async function openProviders(t: TestContext, { api }: Stage): Promise<Providers> {
  const presets = new Map<IdpType, Known>();
  for (const kind of KINDS) {
    const at = await startProvider({ kind, people: [] });
    t.after(() => at.stop());
    presets.set(kind, { at, idpId: await addProvider(api, at) });
  }
  const company = await startProvider({ kind: 'google', people: [] });
  t.after(() => company.stop());
  return { clientId: await addClient(api), presets, company };
}

/** Where a visit of the sign-in page ended. */
export interface Visited {
  /** Of the tokens that the application got; absent: nobody was signed in. */
  sub?: string;
  /** What the last page says. */
  told: string;
}

export interface Visit extends Known {
  /** What the application names. */
  orgId: string;
  /** Who the person is there. */
  subject: string;
  claims?: Record<string, unknown>;
  /** The secret of their second factor here. */
  totp?: string | undefined;
}

let people = 0;

/** A new browser goes to the application, presses the button of the provider, and signs in there. */
export async function pressButton({ api }: Stage, { clientId }: Providers, visit: Visit): Promise<Visited> {
  const { at, idpId, orgId, subject, claims = {}, totp } = visit;
  people += 1;
  const person: Person = { login: `person-${people}`, id: subject, claims };
  at.people.push(person);
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const more = { organization: orgId, login_hint: person.login, code_challenge: challenge };
  const by = await traveller(api, { clientId, more });
  const page = await by.get(by.path);
  if (!page.text.includes(`value="${idpId}"`)) throw new Error(`no button of ${idpId}: ${page.text}`);
  const came = await back(by, at, await by.send(page, 'provider', { idpId }));
  at.people.splice(at.people.indexOf(person), 1);
  const asksCode = totp !== undefined && came.text.includes('name="step" value="code"');
  const arrived = asksCode ? await by.send(came, 'code', { code: codeAt(totp) }) : came;
  if (!hasCode(arrived)) return { told: alertOf(arrived) || arrived.text };
  const code = new URL(arrived.at).searchParams.get('code') ?? '';
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: verifier };
  const { body } = await tokenCall(api, { ...form, client_id: clientId });
  const [, payload = ''] = body.id_token.split('.');
  return { sub: JSON.parse(Buffer.from(payload, 'base64url').toString()).sub, told: '' };
}

/** Apple's page sends the answer as a form. */
async function back(by: Traveller, at: TestProvider, came: Arrived): Promise<Arrived> {
  if (at.kind !== 'apple' || !came.at.startsWith(at.issuer)) return came;
  const action = /action="([^"]*)"/.exec(came.text)?.[1] ?? '';
  const fields = [...came.text.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]);
  return by.follow(await by.by.post(new URL(action).pathname, Object.fromEntries(fields)), action);
}
