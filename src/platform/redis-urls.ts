/** The form of REDIS_URL: one server, a Cluster or Sentinels, or several of them. */

export interface RedisAddress {
  host: string;
  port: number;
}

export interface RedisLogin {
  username?: string;
  password?: string;
}

/** What one URL names. */
export type RedisServer =
  | { kind: 'single'; url: string }
  | { kind: 'cluster'; nodes: RedisAddress[]; login: RedisLogin; tls: boolean }
  | {
      kind: 'sentinel';
      nodes: RedisAddress[];
      /** The name under which the Sentinels watch the master. */
      master: string;
      db: number;
      login: RedisLogin;
      sentinelLogin: RedisLogin;
      tls: boolean;
    };

const SINGLE = /^(?:rediss?:\/\/|unix:\/\/|\/)/;
const GROUP = /^(rediss?)\+(cluster|sentinel):\/\/(?:([^@]*)@)?([^/?@]+)(\/[^?]*)?(?:\?(.*))?$/;
const SCHEMES =
  'must start with redis://, rediss://, redis+cluster://, rediss+cluster://, redis+sentinel:// or rediss+sentinel://, or be the path of a Unix socket';
const FORMS =
  'must have the form redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT or redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER';

/** Between two URLs. A comma also separates the hosts in a URL, and a path may contain spaces. */
const SEPARATOR = /[\s,]+(?=(?:rediss?(?:\+(?:cluster|sentinel))?|unix):\/\/|\/)/;
const PORTS = { cluster: 6379, sentinel: 26379 };

const SENTINEL_OPTIONS = { sentinel_username: 'username', sentinel_password: 'password' } as const;

/**
 * The servers that REDIS_URL names, in the order of its URLs: each is one Redis or Valkey, a Cluster, or a master
 * behind Sentinels.
 *
 * Guarantee: an error message contains no part of the value, as it may contain a password.
 * @throws Error whose message says what REDIS_URL must be, without a subject: `must name …`
 */
export function parseRedisUrls(text: string): RedisServer[] {
  return text.trim().split(SEPARATOR).map(parseOne);
}

function parseOne(url: string): RedisServer {
  const [, scheme, kind, user, hosts = '', path = '', query] = GROUP.exec(url) ?? [];
  if (kind === undefined) {
    if (!SINGLE.test(url)) throw new Error(/\+(?:cluster|sentinel):/.test(url) ? FORMS : SCHEMES);
    return { kind: 'single', url };
  }
  const of = kind as 'cluster' | 'sentinel';
  const common = {
    nodes: hosts.split(',').map((host) => addressOf(host, PORTS[of])),
    login: loginOf(user),
    tls: scheme === 'rediss',
  };
  const [master = '', db = '0', ...more] = path.split('/').slice(1).map(decoded);
  if (of === 'cluster') {
    if (master !== '' || query !== undefined) throw new Error('must name only hosts after redis+cluster://');
    return { kind: 'cluster', ...common };
  }
  if (master === '' || more.length > 0 || !/^\d{1,4}$/.test(db)) {
    throw new Error('must name the master after the hosts of redis+sentinel://, as in /mymaster or /mymaster/0');
  }
  return { kind: 'sentinel', ...common, master, db: Number(db), sentinelLogin: sentinelLoginOf(query) };
}

function addressOf(text: string, usual: number): RedisAddress {
  const [, host, port = `${usual}`] = /^(\[[0-9a-f:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/i.exec(text) ?? [];
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) {
    throw new Error('must name each host as HOST or HOST:PORT, with a port from 1 to 65535');
  }
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}

/** As in other URLs of Redis, `secret@` and `:secret@` are both a password for the default user. */
function loginOf(user: string | undefined): RedisLogin {
  if (!user) return {};
  const [name = '', ...rest] = user.split(':');
  if (rest.length === 0) return { password: decoded(name) };
  return { ...(name ? { username: decoded(name) } : {}), password: decoded(rest.join(':')) };
}

function sentinelLoginOf(query: string | undefined): RedisLogin {
  const login: RedisLogin = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (!(name in SENTINEL_OPTIONS)) {
      throw new Error('must have only the options sentinel_username and sentinel_password');
    }
    login[SENTINEL_OPTIONS[name as keyof typeof SENTINEL_OPTIONS]] = value;
  }
  return login;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('must encode the characters % @ / ? of a user name, password or master as %25 %40 %2F %3F');
  }
}
