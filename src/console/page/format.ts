/** Numbers and times as the console shows them. Times are in UTC, as the server does not know the reader's zone. */
import { type Html, html } from '../../html.ts';

const NUMBERS = new Intl.NumberFormat('en');

export function count(value: number): string {
  return NUMBERS.format(value);
}

/** Never 100 % before everything is done. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '100 %';
  return `${Math.floor((part / whole) * 100)} %`;
}

export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `2026-11-23 13:02 UTC`; the machine-readable time has seconds. */
export function time(iso: string | undefined): Html | undefined {
  if (!iso) return undefined;
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`;
}

/** `13:02:05`. */
export function clock(iso: string): string {
  return iso.slice(11, 19);
}
