/** What a check concludes about one thing. `muster doctor` and the console show findings. */

/** `skipped`: it could not be checked, which is not an error. */
export type State = 'ok' | 'skipped' | 'warning' | 'problem';

export interface Finding {
  /** What was checked, stable across runs: `redis`. */
  name: string;
  state: State;
  message: string;
  /** What to do: a sentence or a command. */
  advice?: string;
}

export function ok(name: string, message: string): Finding {
  return { name, state: 'ok', message };
}

export function skipped(name: string, message: string): Finding {
  return { name, state: 'skipped', message };
}

export function warning(name: string, message: string, advice: string): Finding {
  return { name, state: 'warning', message, advice };
}

export function problem(name: string, message: string, advice: string): Finding {
  return { name, state: 'problem', message, advice };
}

/** `10,000` */
export function number(n: number): string {
  return n.toLocaleString('en-US');
}

/** `1 worker`, `2 workers` */
export function many(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? '' : 's'}`;
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `1.5 GiB` */
export function size(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const amount = bytes / 1024 ** power;
  return `${amount < 10 && power > 0 ? amount.toFixed(1) : Math.round(amount)} ${UNITS[power]}`;
}

const ABOUT_CERTIFICATES = /certificate|altnames/i;

/**
 * What to do about a store that does not answer.
 * @param setting the variable that has its address
 * @param reason the error, if it is known
 */
export function adviceForSilent(setting: 'DATABASE_URL' | 'REDIS_URL', reason = ''): string {
  if (/^(?:WRONGPASS|NOAUTH)\b/.test(reason)) return `Check the user and the password in ${setting}.`;
  if (!ABOUT_CERTIFICATES.test(reason)) return `Check that it is running and that ${setting} is right.`;
  const further = setting === 'DATABASE_URL' ? ', or add sslrootcert=FILE to DATABASE_URL' : '';
  return `If a private authority signed its certificate, set NODE_EXTRA_CA_CERTS to a file with the certificate of this authority${further}.`;
}
