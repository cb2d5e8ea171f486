/**
 * Which service the command talks to and as whom: options first, then the environment, then what `muster login` stored.
 *
 * Guarantee: only the owner can read the stored file; a token is never printed. This is the only file of the command
 * line that reads settings from the environment.
 */
import { readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Shell } from '../terminal/completion.ts';
import { wrongUsage } from '../terminal/failure.ts';

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** What `muster login` stores for one service. */
export interface Login {
  accessToken: string;
  /** Absent for a token that was entered with `--token`. */
  refreshToken?: string | undefined;
  /** Milliseconds since 1970; absent when it is not known. */
  expiresAt?: number | undefined;
}

export interface Kept {
  /** The service of the last login. */
  url?: string | undefined;
  logins: Record<string, Login>;
}

export interface GlobalOptions {
  url?: string;
  tokenFile?: string;
  shell: Shell;
}

export interface Settings {
  /** Without a trailing slash. */
  url: string;
  /** From the option or the environment; undefined when the stored login is to be used. */
  token: string | undefined;
  /** The file that holds stored logins. */
  path: string;
  kept: Kept;
}

/** `$XDG_CONFIG_HOME/muster/credentials.json`; by default in `~/.config`. */
function credentialsPath(env: Shell['env']): string {
  const base = env.XDG_CONFIG_HOME || join(homedir(), '.config');
  return join(base, 'muster', 'credentials.json');
}

/** Whether errors show where they happened. */
export function isDebugging(env: Shell['env']): boolean {
  return Boolean(env.MUSTER_DEBUG);
}

/** @throws Failure when a named file cannot be read, or the URL is not valid */
export async function readSettings(options: GlobalOptions): Promise<Settings> {
  const { env } = options.shell;
  const path = credentialsPath(env);
  const kept = await readKept(path);
  const url = serviceUrl(options.url ?? env.MUSTER_URL ?? kept.url ?? DEFAULT_URL);
  const token = options.tokenFile ? await readToken(options.tokenFile) : env.MUSTER_TOKEN?.trim() || undefined;
  return { url, token, path, kept };
}

function serviceUrl(text: string): string {
  const url = URL.parse(text);
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (isPlain && (url.protocol === 'http:' || url.protocol === 'https:')) return url.href.replace(/\/+$/, '');
  // The message does not repeat the URL, as it may contain a password.
  throw wrongUsage(
    'The service URL must be a plain http(s) address, e.g. https://muster.example.com.',
    'Set it with --url or MUSTER_URL; a token belongs in MUSTER_TOKEN.',
  );
}

/** Whether the host of a URL is this machine, so that nothing on the way can read along. */
export function isLoopback(hostname: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}

async function readToken(path: string): Promise<string> {
  const token = await readFile(path, 'utf8').catch((error: Error) => {
    throw wrongUsage(`The token file cannot be read: ${error.message}.`);
  });
  if (token.trim() !== '') return token.trim();
  throw wrongUsage(`The token file ${path} is empty.`);
}

/** What is stored now; another command may have changed it since this one started. */
export async function readKept(path: string): Promise<Kept> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}';
    throw wrongUsage(`The stored login cannot be read: ${error.message}.`);
  });
  try {
    const { url, logins } = JSON.parse(text) as Partial<Kept>;
    return { url, logins: logins ?? {} };
  } catch {
    throw wrongUsage(`${path} is damaged.`, 'Remove it and run `muster login` again.');
  }
}

/**
 * Replaces the stored login of this service; undefined deletes it. Call it inside `withLock(path, …)`.
 * @param path of the file that holds stored logins
 * @param asDefault whether commands without --url use this service from now on
 */
export async function keepLogin(
  path: string,
  url: string,
  login: Login | undefined,
  { asDefault = true }: { asDefault?: boolean } = {},
): Promise<void> {
  const kept = await readKept(path);
  const { [url]: _old, ...others } = kept.logins;
  const logins = login ? { ...others, [url]: login } : others;
  const service = login ? (asDefault ? url : kept.url) : kept.url === url ? undefined : kept.url;
  const next: Kept = { url: service, logins };
  if (!login && Object.keys(logins).length === 0) return rm(path, { force: true });
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // Written to another file and renamed: a crash leaves the old file or the new one.
  const fresh = `${path}.${process.pid}`;
  await writeFile(fresh, `${JSON.stringify(next, null, 2)}\n`, { mode: 0o600 });
  await chmod(fresh, 0o600);
  await rename(fresh, path);
}

/** The version of this command line. */
export function ownVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
