/**
 * Shows every `<time datetime>` of a page in the zone of the browser; its title says the time in UTC. The server writes
 * UTC and says so, which stays where scripts are off.
 *
 * `data-form`: `seconds` with them and without the date, `ago` as the time that has passed. Parts that are added later, and times that
 * are changed, follow.
 */

const SECOND = 1000;
const AGAIN_MS = 30 * SECOND;
const UNITS = [
  ['day', 24 * 60 * 60 * SECOND],
  ['hour', 60 * 60 * SECOND],
  ['minute', 60 * SECOND],
] as const;
/** Older times are shown with their date. */
const RECENT_MS = 7 * 24 * 60 * 60 * SECOND;

const language = document.documentElement.lang || 'en';
/** As the server writes them (../../messages/times.ts). */
const ordered = language === 'en' ? 'sv' : language;
const minutes = {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
} as const;
const seconds = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
const passed = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' });
const local = { date: new Intl.DateTimeFormat(ordered, minutes), clock: new Intl.DateTimeFormat(ordered, seconds) };
const universal = {
  date: new Intl.DateTimeFormat(ordered, { ...minutes, timeZone: 'UTC' }),
  clock: new Intl.DateTimeFormat(ordered, { ...minutes, ...seconds, timeZone: 'UTC' }),
};

/** `5 min. ago`, `now`; undefined for a time that is too long ago to be counted. */
function agoOf(at: Date): string | undefined {
  const ms = at.getTime() - Date.now();
  if (Math.abs(ms) > RECENT_MS) return undefined;
  const [unit, length] = UNITS.find(([, one]) => Math.abs(ms) >= one) ?? [];
  return unit && length ? passed.format(Math.trunc(ms / length), unit) : passed.format(0, 'second');
}

function show(time: HTMLTimeElement): void {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime())) return;
  const { form } = time.dataset;
  const ago = form === 'ago' ? agoOf(at) : undefined;
  const text = form === 'seconds' ? local.clock.format(at) : (ago ?? local.date.format(at));
  const utc = `${universal[form === 'seconds' ? 'clock' : 'date'].format(at)} UTC`;
  time.title = ago ? `${local.date.format(at)} (${utc})` : utc;
  if (time.textContent !== text) time.textContent = text;
}

const TIMES = 'time[datetime]';

function showIn(part: ParentNode): void {
  for (const time of part.querySelectorAll<HTMLTimeElement>(TIMES)) show(time);
}

showIn(document);
setInterval(() => {
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-form="ago"]')) show(time);
}, AGAIN_MS);
new MutationObserver((changes) => {
  for (const { target, addedNodes } of changes) {
    if (target instanceof HTMLTimeElement && addedNodes.length === 0) show(target);
    for (const node of addedNodes) {
      if (!(node instanceof Element)) continue;
      if (node.matches(TIMES)) show(node as HTMLTimeElement);
      showIn(node);
    }
  }
}).observe(document.body, { childList: true, subtree: true, attributeFilter: ['datetime'] });
