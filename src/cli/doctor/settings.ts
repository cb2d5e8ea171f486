/** Findings about settings that are valid, and still not what somebody meant. */
import { type Finding, warning } from '../../contract/finding.ts';
import { type Config, SETTING_NAMES } from '../../platform/config.ts';
import { editsBetween } from '../../platform/text/edits.ts';
import { isLoopback } from '../service/settings.ts';
import type { Shell } from '../terminal/completion.ts';

export function settingFindings(env: Shell['env'], config: Config): Finding[] {
  return [...mistyped(env), ...publicAddress(config), ...sender(config)];
}

const PREFIX = 'MUSTER_';
/** What Kubernetes sets for a service named `muster`. */
const SERVICE_LINK = /^tcp:\/\//;

/** Variables that are no settings, and nearly are: a typing error, or the name of a setting with a prefix. */
function mistyped(env: Shell['env']): Finding[] {
  return Object.entries(env)
    .filter(([name, value]) => value && !SETTING_NAMES.includes(name))
    .flatMap(([name, value]) => {
      const meant = meantBy(name, value ?? '');
      if (meant === undefined) return [];
      const message = `${name} is set, but no setting has this name: it has no effect`;
      return [warning('configuration', message, `Did you mean ${meant}? docs/operations.md lists all settings.`)];
    });
}

function meantBy(name: string, value: string): string | undefined {
  if (name.startsWith(PREFIX)) {
    const rest = name.slice(PREFIX.length);
    return SETTING_NAMES.includes(rest) && !SERVICE_LINK.test(value) ? rest : undefined;
  }
  const most = Math.min(3, Math.floor(name.length / 4));
  if (name.length < 6) return undefined;
  const near = SETTING_NAMES.map((known) => ({ known, edits: editsBetween(name.toUpperCase(), known) }));
  const [nearest] = near.sort((a, b) => a.edits - b.edits);
  return nearest && nearest.edits <= most ? nearest.known : undefined;
}

function publicAddress({ BASE_URL, HOST, baseUrl }: Config): Finding[] {
  const { protocol, hostname } = new URL(baseUrl);
  if (BASE_URL === undefined && !isLoopback(HOST)) {
    const message = `BASE_URL is not set, and the service listens on ${HOST}: links in mails and logins lead to ${baseUrl}`;
    return [warning('address', message, 'Set BASE_URL to the https:// address that people use.')];
  }
  if (protocol === 'https:' || isLoopback(hostname)) return [];
  const message = `BASE_URL is ${baseUrl}: passwords, tokens and links in mails can be intercepted`;
  return [
    warning('address', message, 'Put a TLS proxy in front of the service, and set BASE_URL to its https:// address.'),
  ];
}

/** Mail servers refuse senders that nobody can answer. */
function sender({ MAIL_FROM, SMTP_URL }: Config): Finding[] {
  const [, domain = ''] = /@([^\s<>@]+)>?\s*$/.exec(MAIL_FROM) ?? [];
  if (SMTP_URL === undefined || domain.includes('.')) return [];
  const message = `MAIL_FROM is ${MAIL_FROM}: mail servers refuse senders of the domain ${domain}`;
  return [warning('mail', message, 'Set MAIL_FROM to an address of your domain: Example <no-reply@example.com>.')];
}
