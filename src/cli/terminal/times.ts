/** Times for people: how long ago, or how far ahead. */

const UNITS: [name: string, ms: number][] = [
  ['day', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
];

/** `2 min ago`, `in 3 h`, `now`; a text that is no time stays as it is. */
export function distance(iso: string, now = Date.now()): string {
  const ms = Date.parse(iso) - now;
  if (Number.isNaN(ms)) return iso;
  const text = amount(Math.abs(ms));
  if (text === undefined) return 'now';
  return ms < 0 ? `${text} ago` : `in ${text}`;
}

/** The largest whole unit: `3 days`, `59 s`; undefined below a second. */
function amount(ms: number): string | undefined {
  const unit = UNITS.find(([, size]) => ms >= size);
  if (!unit) return undefined;
  const count = Math.floor(ms / unit[1]);
  return `${count} ${unit[0]}${unit[0] === 'day' && count !== 1 ? 's' : ''}`;
}
