/**
 * Checks a service from outside, as its callers see it, and what it reports about itself; shows what it found.
 *
 * Guarantee: until the service has answered as Muster, no token is sent; each step ends within seconds.
 */
import { connect, type PeerCertificate } from 'node:tls';
import type { Answer } from '../../contract/client.ts';
import type { ProviderFacts } from '../../contract/diagnostics.ts';
import { type Finding, many, ok, problem, type State, skipped, warning } from '../../contract/finding.ts';
import { checkProviders, checkVersions, checkService as judgeOfRemote } from '../../contract/findings.ts';
import { ownValue } from '../../platform/text/names.ts';
import type { Api } from '../service/api.ts';
import { isIamOwner, type Me, nameOf, readMe, type Session } from '../service/session.ts';
import { isLoopback } from '../service/settings.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

/** Yields each finding as soon as it is known. @param version of the command line */
export async function* checkService(session: Session, version: string): AsyncGenerator<Finding> {
  const { findings, answers } = await checkAddress(session.settings.url);
  yield* findings;
  if (!answers) return;
  const { finding, me } = await checkIdentity(session);
  yield finding;
  if (!me) return;
  if (isIamOwner(me)) {
    yield* await checkInside(session, version);
    return;
  }
  yield* await checkOwnProviders(session, me);
  yield skipped('stores, queue, mail', 'only an IAM_OWNER may see their state');
}

/** Providers of organizations that one run asks for their owner, all at the same time. */
const MOST_OWN = 20;
const OWN_MS = 15_000;

/** Asks the providers of the organizations of which the caller is an owner. */
async function checkOwnProviders({ api }: Session, { organizations }: Me): Promise<Finding[]> {
  const signal = AbortSignal.timeout(OWN_MS);
  const owned = organizations.filter(({ roles }) => roles.includes('ORG_OWNER')).slice(0, MOST_OWN);
  const listed = await Promise.all(owned.map((org) => enabledOf(api, org, signal)));
  const enabled = listed.flatMap((idps) => idps ?? []);
  const providers = await Promise.all(enabled.slice(0, MOST_OWN).map((idp) => askOwn(api, idp, signal)));
  const notAsked = Math.max(0, enabled.length - MOST_OWN);
  const found = checkProviders({ providers, ...(notAsked > 0 ? { notAsked } : {}) });
  const unlisted = owned.filter((_org, n) => listed[n] === undefined).map(({ name }) => name);
  if (unlisted.length === 0) return found;
  return [...found, skipped('identity providers', `those of ${unlisted.join(', ')} could not be listed`)];
}

type OwnIdp = Pick<ProviderFacts['providers'][number], 'idpId' | 'name' | 'orgId' | 'orgName'>;

/** Undefined if the service does not list them. */
async function enabledOf(
  api: Api,
  { id: orgId, name: orgName }: Me['organizations'][number],
  signal: AbortSignal,
): Promise<OwnIdp[] | undefined> {
  const listed = await api.call('listIdps', { org: orgId, signal }).catch(() => undefined);
  const enabled = listed?.result.filter(({ isEnabled }) => isEnabled);
  return enabled?.map(({ idpId, name }) => ({ idpId, name, orgId, orgName }));
}

async function askOwn(api: Api, idp: OwnIdp, signal: AbortSignal): Promise<ProviderFacts['providers'][number]> {
  const reason = await api.call('checkIdp', { idpId: idp.idpId }, { signal }).then(
    ({ checks }) => checks.find(({ ok }) => !ok)?.message,
    (error: unknown) =>
      error instanceof Failure
        ? `It was not checked: ${error.message}`
        : `It has not answered within ${OWN_MS / 1000} s.`,
  );
  return { ...idp, answers: reason === undefined, ...(reason === undefined ? {} : { reason }) };
}

async function checkInside({ api }: Session, version: string): Promise<Finding[]> {
  const facts = await api.call('getDiagnostics').catch((error: unknown) => {
    if (error instanceof Failure) return error;
    throw error;
  });
  if (facts instanceof Failure)
    return [skipped('stores, queue, mail', `the service does not report them: ${facts.message}`)];
  const workers = await api.call('listWorkers').catch(() => ({ result: [] }));
  return [checkVersions(facts, version), ...judgeOfRemote(facts), ...workers.result.flatMap(failingWorker)];
}

/** What a worker reports of itself; the parts that nobody does are found elsewhere. */
function failingWorker({ host, pid, failing }: Answer<'listWorkers'>['result'][number]): Finding[] {
  const name = `the worker ${pid} on ${host}`;
  const parts = failing.filter((part) => part !== CLOCK_PART);
  return [
    ...(parts.length === failing.length
      ? []
      : [warning('clock', `${name} has another time than PostgreSQL, by more than 5 s`, SYNCHRONIZE)]),
    ...(parts.length === 0
      ? []
      : [warning('workers', `${name} reports that these parts fail: ${parts.join(', ')}`, 'Its log says why.')]),
  ];
}

const CLOCK_PART = 'clock';
const SYNCHRONIZE = 'Synchronize the machines with a time server (NTP).';

const PATIENCE_MS = 5000;
const DAY_MS = 86_400_000;

/** Whether the service answered at all, and what its name, connection, certificate, clock and readiness look like. */
async function checkAddress(url: string): Promise<{ findings: Finding[]; answers: boolean }> {
  const started = Date.now();
  const alive = await get(`${url}/healthz`).catch((error: unknown) => unreachable(url, error));
  if (!(alive instanceof Response)) return { findings: [alive], answers: false };
  const ms = Date.now() - started;
  if (!(await saysOk(alive))) return { findings: [stranger(url)], answers: false };
  const findings = [
    ok('service', `${url} answers (${ms} ms)`),
    await checkTls(url),
    checkClock(alive, started, ms),
    ...(await checkIssuer(url)),
    await checkReady(url),
  ];
  return { findings, answers: true };
}

function get(url: string): Promise<Response> {
  return fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS), redirect: 'manual' });
}

async function saysOk(response: Response): Promise<boolean> {
  const body = (await response.json().catch(() => undefined)) as { status?: unknown } | undefined;
  return response.ok && body?.status === 'ok';
}

const ADVICE: Readonly<Record<string, string>> = {
  ENOTFOUND: 'There is no such host name. Check the URL: --url or MUSTER_URL sets it.',
  EAI_AGAIN: 'Host names cannot be resolved right now. Check that this machine is online.',
  ECONNREFUSED: 'Nothing listens there. Start the service (npm start), or set --url or MUSTER_URL.',
  CERT_HAS_EXPIRED: "Renew the service's certificate.",
  ERR_TLS_CERT_ALTNAME_INVALID:
    'The certificate is for another name: use that name in the URL, or get a certificate for this one.',
};
const UNTRUSTED = /SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET)/;

function unreachable(url: string, error: unknown): Finding {
  const { cause, name, message } = error as Error & { cause?: { code?: string; message?: string } };
  if (name === 'TimeoutError') {
    const advice = 'Check whether something in between, such as a firewall, drops the packets.';
    return problem('service', `${url} does not answer within ${PATIENCE_MS / 1000} s`, advice);
  }
  const code = cause?.code ?? '';
  const known = UNTRUSTED.test(code)
    ? 'This machine does not trust the issuer of its certificate: set NODE_EXTRA_CA_CERTS to its CA certificate.'
    : ownValue(ADVICE, code);
  const advice = known ?? 'Check the URL, and that the service is running.';
  return problem('service', `${url} cannot be reached (${code || cause?.message || message})`, advice);
}

function stranger(url: string): Finding {
  return problem('service', `the server at ${url} is not Muster`, 'Check the URL: --url or MUSTER_URL sets it.');
}

/** By then, automatic renewal should have replaced the certificate. */
const SOON_DAYS = 14;

async function checkTls(url: string): Promise<Finding> {
  const { protocol, hostname, port } = new URL(url);
  if (protocol === 'http:') {
    if (isLoopback(hostname)) return ok('tls', 'not needed on this machine');
    const advice = 'Put a TLS proxy in front of the service, and set BASE_URL and TRUST_PROXY.';
    return warning('tls', 'none: tokens and passwords can be intercepted', advice);
  }
  const certificate = await certificateOf(hostname, Number(port || 443));
  if (!certificate) return skipped('tls', 'the certificate was accepted, but could not be read');
  const days = Math.floor((Date.parse(certificate.valid_to) - Date.now()) / DAY_MS);
  if (days > SOON_DAYS) return ok('tls', `the certificate is valid for ${days} days`);
  return warning('tls', `the certificate expires in ${days} days`, 'Renew it.');
}

function certificateOf(host: string, port: number): Promise<PeerCertificate | undefined> {
  return new Promise((resolve) => {
    const servername = /^[\d.]+$|^\[/.test(host) ? {} : { servername: host };
    const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port, timeout: PATIENCE_MS, ...servername });
    const done = (certificate?: PeerCertificate) => {
      socket.destroy();
      resolve(certificate);
    };
    socket.once('secureConnect', () => done(socket.getPeerCertificate()));
    socket.once('error', () => done()).once('timeout', () => done());
  });
}

/** In seconds. Signed assertions are refused beyond 30; certificates and expiry dates fail at larger differences. */
const CLOCK = { warning: 10, problem: 30 };

function checkClock(response: Response, started: number, ms: number): Finding {
  const theirs = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(theirs)) return skipped('clock', 'the service sends no valid Date header');
  // The Date header is truncated to whole seconds.
  const apart = Math.abs(theirs + 500 - (started + ms / 2)) / 1000;
  const seconds = Math.max(0, Math.round(apart - 0.5));
  if (seconds < CLOCK.warning) return ok('clock', seconds === 0 ? 'in sync with the service' : `${seconds} s apart`);
  const message = `the clocks of the service and of this machine are ${seconds} s apart`;
  const checkRights = seconds < CLOCK.problem ? warning : problem;
  return checkRights('clock', message, 'Synchronize both with a time server (NTP).');
}

async function checkIssuer(url: string): Promise<Finding[]> {
  const response = await get(`${url}/.well-known/openid-configuration`).catch(() => undefined);
  const { issuer } = ((await response?.json().catch(() => ({}))) ?? {}) as { issuer?: unknown };
  if (typeof issuer !== 'string' || issuer === url) return [];
  const advice = `Use that URL (--url ${issuer}), or set BASE_URL of the service to the URL that people use.`;
  return [
    warning('address', `the service says that its URL is ${issuer}: links in mails and logins lead there`, advice),
  ];
}

async function checkReady(url: string): Promise<Finding> {
  const response = await get(`${url}/readyz`).catch(() => undefined);
  if (response && (await saysOk(response.clone()))) return ok('ready', 'the service is ready');
  const parts = await failingParts(response);
  const start = parts.includes('database') ? 'Check that PostgreSQL is running. ' : '';
  const advice = `${start}The service's log says more; run \`muster doctor --local\` on its machine.`;
  const why = parts.length > 0 ? `these parts do not work: ${parts.join(', ')}` : 'it does not say why';
  return problem('ready', `the service is up, but it is not ready; ${why}`, advice);
}

/** Names such as `database`; none when the answer has another form. */
async function failingParts(response: Response | undefined): Promise<string[]> {
  const body = (await response?.json().catch(() => undefined)) as { failing?: unknown } | null | undefined;
  if (!Array.isArray(body?.failing)) return [];
  return body.failing.map((failure: { part?: unknown } | null) => String(failure?.part));
}

/** Who the caller is and into which organizations they may import, if the service names them. */
async function checkIdentity({ api }: Session): Promise<{ finding: Finding; me?: Me }> {
  try {
    const me = await readMe(api);
    return { finding: judge(me), me };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const advice = error.advice ?? 'Run `muster login`.';
    if (error.exitCode === EXIT.denied) return { finding: problem('login', error.message, advice) };
    return { finding: problem('login', `the caller cannot be identified: ${error.message}`, advice) };
  }
}

const SHOWN = 5;

function judge(me: Me): Finding {
  if (isIamOwner(me)) return ok('login', `${nameOf(me)}, IAM_OWNER; may import into every organization`);
  const into = me.organizations.filter(({ roles }) => roles.includes('ORG_OWNER'));
  if (into.length > 0) {
    const names = into.slice(0, SHOWN).map(({ id, name }) => (id === name ? id : `${id} (${name})`));
    const more = into.length > SHOWN ? ` and ${into.length - SHOWN} more` : '';
    return ok('login', `${nameOf(me)}; may import into ${names.join(', ')}${more}`);
  }
  const advice = 'To import, ask an owner of the organization for the role ORG_OWNER.';
  return warning('login', `${nameOf(me)}; may not import into any organization`, advice);
}

const MARKS: Readonly<Record<State, string>> = { ok: '✔', skipped: '–', warning: '!', problem: '✖' };

/** Prints a finding. */
export function show(out: Output, { state, name, message, advice }: Finding): void {
  out.line(`${MARKS[state]} ${name}: ${message}`);
  if (advice) out.line(`    → ${advice}`);
}

/** Prints the totals, or the JSON result. @returns the number of problems */
export function conclude(out: Output, findings: Finding[]): number {
  const count = (state: State) => findings.filter((finding) => finding.state === state).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  out.result({ problems, warnings, findings });
  out.line();
  out.line(
    problems + warnings === 0 ? 'No problems found.' : `${many(problems, 'problem')}, ${many(warnings, 'warning')}.`,
  );
  return problems;
}
