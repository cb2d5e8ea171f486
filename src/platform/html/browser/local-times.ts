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

const two = (value: number): string => String(value).padStart(2, '0');
const passed = new Intl.RelativeTimeFormat(document.documentElement.lang || 'en', { numeric: 'auto', style: 'short' });

function dateOf(at: Date): string {
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

function clockOf(at: Date): string {
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}

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
  const local = `${dateOf(at)} ${clockOf(at)}`;
  const { form } = time.dataset;
  const ago = form === 'ago' ? agoOf(at) : undefined;
  const text = form === 'seconds' ? `${clockOf(at)}:${two(at.getSeconds())}` : (ago ?? local);
  const iso = at.toISOString();
  const utc = `${iso.slice(0, 10)} ${iso.slice(11, form === 'seconds' ? 19 : 16)} UTC`;
  time.title = ago ? `${local} (${utc})` : utc;
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
