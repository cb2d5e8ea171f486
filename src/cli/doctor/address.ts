/**
 * Whether the service is reached: name, connection, certificate, clock, and whether it says that it can work.
 *
 * Guarantee: no token is sent here; each step ends within some seconds.
 */
import { connect, type PeerCertificate } from 'node:tls';
import { type Finding, ok, problem, skipped, warning } from './finding.ts';

const PATIENCE_MS = 5000;
const DAY_MS = 86_400_000;

/** The findings; whether the service answered at all. */
export async function checkAddress(url: string): Promise<{ findings: Finding[]; answers: boolean }> {
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
  ENOTFOUND: 'There is no such name: is the address right? --url or MUSTER_URL sets it.',
  EAI_AGAIN: 'Names cannot be looked up right now: is this machine online?',
  ECONNREFUSED: 'Nobody listens there: start the service (npm start), or set --url or MUSTER_URL.',
  CERT_HAS_EXPIRED: 'Renew the certificate of the service.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is of another name: use that one, or get one of this name.',
};
const UNTRUSTED = /SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET)/;

function unreachable(url: string, error: unknown): Finding {
  const { cause, name, message } = error as Error & { cause?: { code?: string; message?: string } };
  if (name === 'TimeoutError') {
    const advice = 'Is something between that swallows it, such as a firewall?';
    return problem('service', `${url} does not answer within ${PATIENCE_MS / 1000} s`, advice);
  }
  const code = cause?.code ?? '';
  const known = UNTRUSTED.test(code)
    ? 'This machine does not trust who signed its certificate: NODE_EXTRA_CA_CERTS names a file of who else to trust.'
    : ADVICE[code];
  const advice = known ?? 'Is the address right, and is the service running?';
  return problem('service', `${url} cannot be reached (${code || cause?.message || message})`, advice);
}

function stranger(url: string): Finding {
  return problem(
    'service',
    `what answers at ${url} is not Muster`,
    'Is the address right? --url or MUSTER_URL sets it.',
  );
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
/** A renewal that runs by itself has failed by then. */
const SOON_DAYS = 14;

async function checkTls(url: string): Promise<Finding> {
  const { protocol, hostname, port } = new URL(url);
  if (protocol === 'http:') {
    if (LOOPBACK.has(hostname)) return ok('tls', 'not needed on this machine');
    const advice = 'Put a proxy with a certificate before the service, and set BASE_URL and TRUST_PROXY.';
    return warning('tls', 'none: whoever is on the way reads tokens and passwords', advice);
  }
  const certificate = await certificateOf(hostname, Number(port || 443));
  if (!certificate) return skipped('tls', 'the certificate was taken, but could not be looked at');
  const days = Math.floor((Date.parse(certificate.valid_to) - Date.now()) / DAY_MS);
  if (days > SOON_DAYS) return ok('tls', `the certificate is good for ${days} days`);
  return warning('tls', `the certificate ends in ${days} days`, 'Renew it.');
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

/** Signed assertions are refused beyond 30 seconds; certificates and expiry dates go wrong by more. */
const CLOCK = { warning: 10, problem: 30 };

function checkClock(response: Response, started: number, ms: number): Finding {
  const theirs = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(theirs)) return skipped('clock', 'the service does not say what time it is');
  // Its answer is cut to the second.
  const apart = Math.abs(theirs + 500 - (started + ms / 2)) / 1000;
  const seconds = Math.max(0, Math.round(apart - 0.5));
  if (seconds < CLOCK.warning) return ok('clock', seconds === 0 ? 'the same there and here' : `${seconds} s apart`);
  const message = `that of the service and that of this machine are ${seconds} s apart`;
  const judge = seconds < CLOCK.problem ? warning : problem;
  return judge('clock', message, 'Let both follow a time server (NTP).');
}

async function checkIssuer(url: string): Promise<Finding[]> {
  const response = await get(`${url}/.well-known/openid-configuration`).catch(() => undefined);
  const { issuer } = ((await response?.json().catch(() => ({}))) ?? {}) as { issuer?: unknown };
  if (typeof issuer !== 'string' || issuer === url) return [];
  const advice = `Use that address (--url ${issuer}), or set BASE_URL of the service to the one that people use.`;
  return [warning('address', `the service calls itself ${issuer}: links in mails and logins go there`, advice)];
}

async function checkReady(url: string): Promise<Finding> {
  const response = await get(`${url}/readyz`).catch(() => undefined);
  if (response && (await saysOk(response))) return ok('ready', 'the service can do its work');
  const advice = 'Is PostgreSQL running? The log of the service says more; `muster doctor --local` looks from there.';
  return problem('ready', 'the service is up, but its database does not answer', advice);
}
