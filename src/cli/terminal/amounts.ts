/** Amounts for people: `6,634/12,000`, `28.3/38.6 MB`. */

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** How far something is; both amounts have the unit of the total. */
export function amountOf({ done, total, isBytes = false }: { done: number; total: number; isBytes?: boolean }): string {
  if (!isBytes) return `${done.toLocaleString('en-US')}/${total.toLocaleString('en-US')}`;
  const exponent = exponentOf(total);
  return `${scaled(done, exponent)}/${scaled(total, exponent)} ${UNITS[exponent]}`;
}

/** `3,100/s`, `12.5 MB/s` */
export function rateOf(perSecond: number, isBytes = false): string {
  if (!isBytes) return `${Math.round(perSecond).toLocaleString('en-US')}/s`;
  const exponent = exponentOf(perSecond);
  return `${scaled(perSecond, exponent)} ${UNITS[exponent]}/s`;
}

function exponentOf(bytes: number): number {
  const exponent = Math.floor(Math.log10(Math.max(1, bytes)) / 3);
  return Math.min(exponent, UNITS.length - 1);
}

function scaled(bytes: number, exponent: number): string {
  return (bytes / 1000 ** exponent).toFixed(exponent === 0 ? 0 : exponent < 3 ? 1 : 2);
}
