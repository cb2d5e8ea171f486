/** Reads the options and secrets of a system. */
import { UsageError } from '../sources/source.ts';
import type { PullSettings } from './system.ts';

/** The text of an option; undefined when it is not given. */
export function optionOf({ options }: Pick<PullSettings, 'options'>, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The text of an option that the command line requires. */
export function requiredOption(settings: Pick<PullSettings, 'options'>, name: string): string {
  const value = optionOf(settings, name);
  if (value === undefined) throw new UsageError(`--${name} is required.`);
  return value;
}

export function secretOf({ secrets }: Pick<PullSettings, 'secrets'>, name: string): string {
  return secrets[name] ?? '';
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The base URL of a system, without a trailing slash. A bare host name means HTTPS.
 * @throws UsageError when it is not a plain URL, or would send secrets over a network without TLS
 */
export function baseUrl(option: string, text: string): string {
  const url = URL.parse(text.includes('://') ? text : `https://${text}`);
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  // The message does not repeat the text, as it may contain a password.
  if (!isPlain) throw new UsageError(`--${option} must be a plain host name or URL, without user, password or query.`);
  if (url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.has(url.hostname)))
    return url.href.replace(/\/+$/, '');
  throw new UsageError(`--${option} must use https: secrets and users must not cross a network in clear text.`);
}

/** A whole number of an option, within its bounds. @throws UsageError */
export function numberOption(text: string, name: string, [least, most]: readonly [number, number]): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`--${name} must be a number from ${least} to ${most}; it is "${text}".`);
}
